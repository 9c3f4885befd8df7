"""Where CPU work runs beside the calls: a table of names, imported only when chosen."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OffloadInfo:
    """What the parent must know of an offload without importing it.

    target: "module:attribute" of its factory. threads: of the cell's own process, beside its calls'.
    processes: whether its workers are processes. since: the first Python that has it.
    """

    target: str
    threads: bool = False
    processes: bool = False
    since: tuple[int, int] | None = None


OFFLOADS: dict[str, OffloadInfo] = {
    "inline": OffloadInfo(target="streamlanes.offload.inline:Inline"),
    "threads": OffloadInfo(target="streamlanes.offload.threads:Threads", threads=True),
    "processes": OffloadInfo(target="streamlanes.offload.processes:Processes", processes=True),
    # Written after the documentation of 3.14; no machine of ours has run it.
    "interpreters": OffloadInfo(
        target="streamlanes.offload.interpreters:Interpreters", threads=True, since=(3, 14)
    ),
}
