"""The memory figures that every lane shares (DESIGN.md, rule 6)."""

from collections.abc import Callable
from dataclasses import replace

from streamlanes.facts import Facts, MemoryPass, Missing
from streamlanes.lanes.base import Better, Metric
from streamlanes.record import Quality

Take = Callable[[MemoryPass], int | float | Missing | None]


def _metric(
    path: str,
    unit: str,
    text: str,
    take: Take,
    *,
    quality: Quality = Quality.MEASURED,
    gone: str = "unreadable",
    better: Better = Better.LOWER,
) -> Metric:
    def of(facts: Facts) -> float | Missing:
        if isinstance(facts.memory, str):
            return Missing(facts.memory)
        found = take(facts.memory)
        return Missing(gone) if found is None else found

    return Metric(
        path=f"memory.{path}",
        unit=unit,
        better=better,
        help=text,
        quality=quality,
        of=lambda view: of(view.facts),
    )


def _minus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other


def _stacks(memory: MemoryPass, size: int | None) -> int | Missing:
    """A size of all stacks; a part of them would pass for all."""
    found = memory.stacks
    if size is None:
        return Missing(found.reason or "unreadable")
    if found.placed < found.threads:
        return Missing(f"only {found.placed:,} of {found.threads:,} thread stacks were found")
    return size


def _each(total: int | None, held: int) -> float | None:
    return None if total is None else total / held


def _gained(value: float | None) -> float | Missing | None:
    """What the host gained. It gives memory back at its own times; less than nothing is no cost of ours."""
    if value is not None and value < 0:
        return Missing("the host gave back more than the cell took")
    return value


def _kernel(memory: MemoryPass) -> int | None:
    """Slab, kernel stacks, page tables and socket buffers that the host gained from ready to plateau."""
    before, after = memory.host_ready, memory.host_plateau
    names = ("slab_bytes", "kernel_stack_bytes", "page_table_bytes", "socket_bytes")
    parts = [_minus(getattr(after, name), getattr(before, name)) for name in names]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


METRICS = (
    _metric(
        "bare_bytes",
        "B",
        "an interpreter that runs nothing, PSS",
        lambda m: m.bare_bytes,
        better=Better.NEITHER,
    ),
    _metric(
        "fixed_bytes",
        "B",
        "the cell at ready minus a bare interpreter, PSS",
        lambda m: _minus(m.ready.pss_bytes, m.bare_bytes),
        quality=Quality.DERIVED,
    ),
    _metric(
        "per_call_bytes",
        "B",
        "(plateau - ready) PSS over the calls in flight",
        lambda m: _each(_minus(m.plateau.pss_bytes, m.ready.pss_bytes), m.held),
        quality=Quality.DERIVED,
    ),
    _metric(
        "fixed_per_call_bytes",
        "B",
        "(ready - bare interpreter) PSS over the calls in flight: the fixed part's share of a call",
        lambda m: _each(_minus(m.ready.pss_bytes, m.bare_bytes), m.held),
        quality=Quality.DERIVED,
    ),
    _metric(
        "held_calls",
        "calls",
        "calls in flight while memory was read",
        lambda m: m.held,
        better=Better.NEITHER,
    ),
    _metric(
        "plateau_pss_bytes",
        "B",
        "anonymous and shared PSS of the tree at the plateau",
        lambda m: m.plateau.pss_bytes,
    ),
    _metric(
        "file_pss_bytes",
        "B",
        "file pages of the tree at the plateau, PSS",
        lambda m: m.plateau.file_pss_bytes,
    ),
    _metric(
        "rss_upper_bound_bytes",
        "B",
        "summed RSS of the tree at the plateau",
        lambda m: m.plateau.rss_upper_bound_bytes,
        quality=Quality.UPPER_BOUND,
    ),
    _metric(
        "peak_rss_bytes",
        "B",
        "VmHWM at the plateau, of a cell that is one process, without the harness's tables",
        lambda m: _minus(m.plateau.peak_rss_bytes, m.plateau.own_rss_bytes),
        gone="several processes: their peaks need not have been at the same time",
    ),
    _metric(
        "reserved_bytes", "B", "address space of the tree at the plateau", lambda m: m.plateau.virtual_bytes
    ),
    _metric(
        "reserved_per_call_bytes",
        "B",
        "address space gained from ready to plateau over the calls in flight",
        lambda m: _each(_minus(m.plateau.virtual_bytes, m.ready.virtual_bytes), m.held),
        quality=Quality.DERIVED,
    ),
    _metric(
        "thread_stack_reserved_bytes",
        "B",
        "address space of all thread stacks, main threads left out",
        lambda m: _stacks(m, m.stacks.reserved_bytes),
    ),
    _metric(
        "thread_stack_resident_bytes",
        "B",
        "resident part of all thread stacks, found through each thread's stack pointer",
        lambda m: _stacks(m, m.stacks.resident_bytes),
    ),
    _metric("page_table_bytes", "B", "page tables of the tree", lambda m: m.plateau.page_table_bytes),
    _metric(
        "kernel_stack_bytes",
        "B",
        "kernel stacks that the host gained from ready to plateau",
        lambda m: _gained(_minus(m.host_plateau.kernel_stack_bytes, m.host_ready.kernel_stack_bytes)),
        quality=Quality.HOST_WIDE,
    ),
    _metric(
        "kernel_per_call_bytes",
        "B",
        "slab, kernel stacks, page tables and socket buffers that the host gained, over the calls in "
        "flight; both ends of a connection are in it",
        lambda m: _gained(_each(_kernel(m), m.held)),
        quality=Quality.HOST_WIDE,
    ),
    _metric(
        "cgroup_peak_bytes",
        "B",
        "peak of the cell's own cgroup",
        lambda m: Missing("the cell has no cgroup of its own"),
    ),
)


def of_tree(ready: str, plateau: str) -> tuple[Metric, ...]:
    """Those that a lane has which holds no calls in flight: its tree is read once all jobs have ended.

    ready: what stands at ready, plateau: when that is, in the lane's words.
    """
    by_path = {metric.path: metric for metric in METRICS}
    texts = {
        "bare_bytes": "an interpreter that runs nothing, PSS",
        "fixed_bytes": f"{ready}, minus a bare interpreter, PSS",
        "plateau_pss_bytes": f"anonymous and shared PSS of the tree {plateau}",
        "file_pss_bytes": "file pages of the tree at that time, PSS",
        "rss_upper_bound_bytes": "summed RSS of the tree at that time",
        "page_table_bytes": "page tables of the tree at that time",
    }
    return tuple(replace(by_path[f"memory.{name}"], help=text) for name, text in texts.items())
