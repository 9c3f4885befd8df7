"""What knee searches found, in rows and words: for the table, the chart and the answer. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from streamlanes.knee import LATE, RATE, Knee, Verdict, knees, rate_of
from streamlanes.record import FlagName, Record
from streamlanes.series import Line, line_order, points
from streamlanes.words import plain


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """One search's outcome, and which way of running it is about."""

    client: str
    workload: str
    calls: int
    line: Line
    knee: Knee

    @property
    def bears(self) -> str:
        """The highest rate borne, in words."""
        low, high = self.knee.bracket.bears_per_s, self.knee.bracket.fails_per_s
        if low is not None:
            return f"{'' if self.bounded_above else '>= '}{plain(low)} tokens/s"
        return f"< {plain(high)} tokens/s" if high is not None and self.bounded_above else "no rate"

    @property
    def fails(self) -> str:
        """The lowest rate not borne, in words; empty where there is none."""
        high = self.knee.bracket.fails_per_s
        return "" if high is None else f"{plain(high)} tokens/s"

    @property
    def bounded_above(self) -> bool:
        """Whether the client itself failed at some rate: without that its knee may be anywhere above."""
        return self.knee.bracket.limit is Verdict.NOT_BORNE

    @property
    def late_ms(self) -> float | None:
        """Stream lateness p99 at the highest rate borne; None where none was."""
        steps = [step for step in self.knee.steps if rate_of(step) == self.knee.bracket.bears_per_s]
        values = [value for step in steps if (value := step.figure(LATE)) is not None]
        return median(values) if values else None

    @property
    def notes(self) -> list[str]:
        """What must be known beside it."""
        found, knee = self.knee.bracket, self.knee
        said = []
        if found.limit is not None and not self.bounded_above:
            said.append(f"{found.limit.value} at {self.fails}")
        if found.not_run is not None:
            said.append(found.not_run)
        elif found.fails_per_s is None:
            said.append("no higher rate was asked for")
        if knee.cut_short:
            said.append("search cut short")
        capped = [step for step in knee.steps if any(flag.name is FlagName.CAPPED for flag in step.flags)]
        if capped:
            said.append(f"never all in flight in {len(capped)} of {len(knee.steps)} cells")
        if knee.disturbed and found.limit is not Verdict.HOST:
            said.append(f"host disturbed in {knee.disturbed} of {len(knee.steps)} cells")
        return said


def capacities(records: Iterable[Record]) -> list[Capacity]:
    """What every search among these records found, by client, workload, calls and bound, then by line."""
    known = {knee.steps[0].cell.id: knee for knee in knees(records)}
    made = []
    for bound_ms in sorted({knee.bound_ms for knee in known.values()}):
        # One record stands for each search, so that lines are named as everywhere else.
        firsts = [knee.steps[0] for knee in known.values() if knee.bound_ms == bound_ms]
        made += [
            Capacity(
                client=point.client,
                workload=point.workload,
                calls=point.calls,
                line=point.line.without(RATE),
                knee=known[first.cell.id],
            )
            for point in points(firsts)
            for first in point.records
        ]
    return sorted(
        made,
        key=lambda one: (one.client, one.workload, one.calls, one.knee.bound_ms, line_order(one.line)),
    )
