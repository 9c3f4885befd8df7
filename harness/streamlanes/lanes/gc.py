"""What the garbage collector cost, for every lane: counted by the measured process itself."""

from typing import Protocol

from streamlanes.facts import Facts, Missing
from streamlanes.lanes.base import Better, Metric, Pool


class HasFacts(Protocol):
    """A lane's view of a cell's facts."""

    facts: Facts


def _metric(name: str, unit: str, text: str) -> Metric:
    def of(view: HasFacts) -> float | Missing:
        found = view.facts.timed.gc
        return found[name] if found else Missing("the cell was stopped before it could report")

    return Metric(path=f"gc.{name}", unit=unit, better=Better.LOWER, help=text, pool=Pool.MEDIAN, of=of)


METRICS = (
    _metric("collections", "", "collections of any generation while jobs ran"),
    _metric("pause_ms_total", "ms", "how long collections stopped the process, together"),
    _metric("pause_ms_max", "ms", "the longest of them"),
)
