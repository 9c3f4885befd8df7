"""Real cells for benchmarks: what they must have counted, and two of them in turn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from streamlanes import limits
from streamlanes.cells import Axes, Cell
from streamlanes.lanes.base import Lane
from streamlanes.metrics import Calls
from streamlanes.process import Bench
from streamlanes.record import Record, StatusName
from streamlanes.recording import record
from streamlanes.stats import paired_ratio

T = TypeVar("T")

SOMAXCONN = 128
"""Where the system does not say: the smallest backlog in use, which only makes for more ports."""


@dataclass(frozen=True)
class Measured:
    """One cell's record, and the calls it was made from."""

    record: Record
    calls: Calls


def bench_of(lane: Lane) -> Bench:
    """A bench for this lane's cells, to be closed."""
    return Bench(lane, limits.read_limits().somaxconn or SOMAXCONN)


def cell(
    backend: str, client: str, workload: str, calls: int, *, memory: bool = False, **axes: object
) -> Cell:
    """A cell of the I/O lane, with enough open files for it."""
    limits.raise_open_files(calls + 1000)
    return Cell(
        lane="io",
        backend=backend,
        client=client,
        workload=workload,
        calls=calls,
        axes=msgspec.convert(axes, Axes),
        memory=memory,
    )


def measured(bench: Bench, what: Cell) -> Measured:
    """The cell, measured; every call and token has to be there, or its figures are of something else."""
    facts = bench.measure(what)
    made = record(what, bench.lane, {}, facts)
    counts = made.counts
    assert made.status.name is StatusName.OK, made.status
    assert counts["ok"] == counts["started"] == counts["calls"] == what.calls, counts
    assert counts["tokens"] == counts["expected_tokens"], counts
    assert counts["lost_tokens"] == counts["extra_tokens"] == counts["unaccounted_calls"] == 0, counts
    return Measured(made, bench.lane.view(facts))


def abba(pairs: int, one: Callable[[], T], other: Callable[[], T]) -> tuple[list[T], list[T]]:
    """Both, `pairs` times, in the order AB BA AB ...: what drifts with time hits both alike."""
    ones: list[T] = []
    others: list[T] = []
    for pair in range(pairs):
        turns = [(one, ones), (other, others)]
        for run, into in turns if pair % 2 == 0 else reversed(turns):
            into.append(run())
    return ones, others


def compared(ones: list[float | None], others: list[float | None]) -> str:
    """How many times the first is the second, with its 95 % interval; or why there is no ratio."""
    a = [value for value in ones if value is not None]
    b = [value for value in others if value is not None]
    if len(a) != len(ones) or len(b) != len(others):
        return "no plateau"
    ratio = paired_ratio(a, b)
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.4f} (one pair: no interval)"
    return f"{ratio.value:.4f} [{ratio.low:.4f}, {ratio.high:.4f}] of {ratio.pairs} pairs"


def shown(values: list[float | None], digits: int = 2) -> list[float | None]:
    """The values, short enough for one line."""
    return [None if value is None else round(value, digits) for value in values]


def doubts(made: list[Measured]) -> list[str]:
    """The names of all flags that these cells raised."""
    return sorted({flag.name.value for each in made for flag in each.record.flags})
