"""What the lanes with CPU work have in common: their axes, who works, what their job is told, the
figures of their post-processing, and the words for an answer."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from streamlanes.backends import BACKENDS, Waits
from streamlanes.cpu import KERNELS, is_own
from streamlanes.errors import UserError, unknown
from streamlanes.facts import Missing
from streamlanes.lanes.base import Better, Crew, Metric
from streamlanes.lanes.figures import Figure
from streamlanes.metrics import Calls
from streamlanes.offload import OFFLOADS
from streamlanes.record import Record, StatusName
from streamlanes.words import plain

if TYPE_CHECKING:
    from streamlanes.cells import Axes, Cell

AXES = ("kernel", "offload", "batch", "workers", "start_method")
KERNEL = "hash-embed"
OFFLOAD = "inline"
COLUMNS = ("handed", "back", "kernel_begin", "kernel_end", "kernel_cpu", "digest", "fault")
"""What the post-processing stamps of a call; see jobs.post.Post."""
BACKENDS_OF_ONE_PROCESS = {
    name: info for name, info in BACKENDS.items() if not (info.processes or info.pool_of_processes)
}
"""Those that these lanes take: processes are their offload's."""


def kernel(cell: "Cell") -> str:
    """The kernel that runs."""
    return cell.axes.kernel or KERNEL


def offload(axes: "Axes") -> str:
    """Where it runs."""
    return axes.offload or OFFLOAD


def idle(axes: "Axes") -> tuple[str, ...]:
    """Inline there are no workers and nothing is handed over; only processes have a start method."""
    where = offload(axes)
    if where == "inline":
        return ("workers", "start_method", "batch")
    return () if OFFLOADS[where].processes else ("start_method",)


def resolved(cell: "Cell") -> dict[str, Any]:
    """The axes that are known before the cell runs; it adds its batch and its start method."""
    where = offload(cell.axes)
    return {"kernel": kernel(cell), "offload": where, "workers": None if where == "inline" else cell.staff}


def setting(cell: "Cell") -> dict[str, Any]:
    """What jobs.post.PostSetting needs, as far as all these lanes have it."""
    return {
        "kernel": kernel(cell),
        "offload": offload(cell.axes),
        "workers": 1 if offload(cell.axes) == "inline" else cell.staff,
        "start_method": cell.axes.start_method,
        "waits": BACKENDS[cell.backend].waits.value,
        "seed": cell.load().seed,
        "batch": cell.axes.batch,
    }


def check(cell: "Cell") -> None:
    """Raise UserError for what cannot be meant."""
    info, name = BACKENDS[cell.backend], kernel(cell)
    if cell.backend not in BACKENDS_OF_ONE_PROCESS:
        raise UserError(
            f"backend {cell.backend} has processes of its own; lane {cell.lane} takes one that has none, and "
            "processes by --set offload=processes"
        )
    if not is_own(name) and name not in KERNELS:
        raise unknown("kernel", name, [*KERNELS, "module:function"])
    if is_own(name) and not all(part.isidentifier() for part in name.replace(":", ".", 1).split(".")):
        raise UserError(f"kernel {name!r} names no function; write it as module:function")
    if (cell.axes.batch or 1) > 1 and info.waits is Waits.BLOCKING:
        raise UserError(
            f"batch is {cell.axes.batch}; under {cell.backend} each call waits for its own document: leave "
            "batch out, or take an event loop (-b asyncio)"
        )


def crew(cell: "Cell") -> Crew:
    """Its workers, and the libraries of its kernel."""
    info = OFFLOADS[offload(cell.axes)]
    name = kernel(cell)
    return Crew(
        threads=cell.staff if info.threads else 0,
        processes=cell.staff if info.processes else 0,
        needs=() if is_own(name) else KERNELS[name].needs,
        extra="cpu",
        since=info.since,
    )


def fact(view: Calls, name: str) -> Any:
    """What the cell said of itself under this name, or why it did not."""
    said = view.timed.interpreter.get(name)
    return Missing("the cell was stopped before it could report") if said is None else said


def identity(view: Calls) -> str | Missing:
    """One digest of all vectors, in the documents' order: the same wherever the same kernel ran."""
    digests, at = view.timed.own["digest"], view.timed.own["back"]
    if not len(digests) or (digests == 0).any():
        lacking = int((digests == 0).sum())
        done = (
            "not one document has"
            if not at.any() or lacking == len(digests)
            else f"{lacking:,} documents lack"
        )
        return Missing(f"{done} a vector")
    return hashlib.blake2b(digests.astype("<i8").tobytes(), digest_size=8).hexdigest()


def metrics(group: str) -> tuple[Metric, ...]:
    """The figures that all these lanes have, in their own group."""

    def one(name: str, unit: str, better: Better, text: str, of: Callable[[Calls], Figure]) -> Metric:
        return Metric(path=f"{group}.{name}", unit=unit, better=better, help=text, of=of)

    def said(name: str) -> Callable[[Calls], Figure]:
        return lambda view: fact(view, name)

    return (
        one(
            "transfer_us", "us", Better.LOWER,
            "the way of a document's text to a worker and of a vector back, without any work, in batches as "
            "they ran: median of 20, before the run",
            said("transfer_us"),
        ),
        one("workers_ms", "ms", Better.LOWER, "until all workers were up", said("offload_start_ms")),
        one("batch", "documents", Better.NEITHER, "documents handed over together", said("batch")),
        one("worker_deaths", "", Better.LOWER, "worker processes that died", _deaths),
        one("faults", "documents", Better.LOWER, "documents whose kernel raised, or whose worker died",
            lambda view: int(view.timed.own["fault"].sum())),
        one("digest", "", Better.NEITHER, "of all vectors: the same wherever the same kernel ran", identity),
    )  # fmt: skip


def _deaths(view: Calls) -> Figure:
    said = fact(view, "kernel")
    return said if isinstance(said, Missing) else int(str(view.timed.interpreter.get("worker_deaths", 0)))


def grouped(records: Iterable[Record], *axes: str) -> dict[tuple[str, ...], list[Record]]:
    """Records that ended ok, by backend, size and these axes, each in words."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        if record.status.name is StatusName.OK:
            told = (record.cell.axes.get(axis) for axis in axes)
            shown = (plain(each) if isinstance(each, int | float) else str(each) for each in told)
            key = (record.cell.backend, plain(record.cell.calls), *shown)
            groups.setdefault(key, []).append(record)
    return groups


def ways(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Records by where the work ran, in the table's order; by start method too where there are several."""
    methods = {record.cell.axes["start_method"] for record in records} - {None}
    found: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda each: list(OFFLOADS).index(each.cell.axes["offload"])):
        method = record.cell.axes["start_method"]
        name = record.cell.axes["offload"] + (f" by {method}" if method and len(methods) > 1 else "")
        found.setdefault(name, []).append(record)
    return found
