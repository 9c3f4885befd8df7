"""Which points of a client compete, who wins, and how two of them compare. Pure.

Only clean repetitions count. Bounded backends do not compete: they never held that many calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from streamlanes.lanes.base import Better, Lane, Metric
from streamlanes.record import NOTES, FlagName
from streamlanes.series import Point
from streamlanes.stats import Ratio, noise, paired, paired_ratio, same

OWN = frozenset({FlagName.CLIENT_LIMITED, FlagName.CAPPED})
"""Flags that are the backend's own doing; the others are of its surroundings."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One figure of one point over another's. alike: no difference may be claimed. known: whether the
    noise is, so that "the same" is a finding and not ignorance."""

    metric: Metric
    ratio: Ratio
    alike: bool
    known: bool


class Contest:
    """One client's points. headline: the figures that decide, most important first.

    field: those that compete, at the largest size that can be decided, best first; empty if there is
    none. left_out: the others of that size.
    """

    def __init__(self, mine: Sequence[Point], lane: Lane) -> None:
        self.headline = _headline(lane)
        # A cell measured once has no noise of its own; the largest of its metric in the run stands in.
        self._known_noise = {m.path: max(_noises(mine, m), default=None) for m in self.headline}
        able, self.left_out = self._decidable(mine)
        self.field: list[Point] = []
        while able:
            self.field.append(best := self._best(able))
            able.remove(best)

    def compare(self, a: Point, b: Point) -> list[Comparison]:
        """a over b, for every headline figure that both have in a common repetition."""
        found = []
        for metric in self.headline:
            if (ratio := _ratio(a, b, metric)) is not None:
                found.append(
                    Comparison(
                        metric=metric,
                        ratio=ratio,
                        alike=self._alike(a, b, metric, ratio),
                        known=ratio.low is not None or self._noise(a, b, metric) is not None,
                    )
                )
        return found

    def _decidable(self, mine: Sequence[Point]) -> tuple[list[Point], list[Point]]:
        """The largest size, then the workload most of its points are clean at.

        One clean point alone wins only where the others failed by themselves; where it was the host
        or the provider that failed them, nobody has won.
        """
        groups: dict[tuple[int, str], list[Point]] = {}
        for point in mine:
            if not point.bounded:
                groups.setdefault((point.calls, point.workload), []).append(point)
        decided = []
        for (calls, _), group in groups.items():
            able = [p for p in group if self.headline and clean(p, self.headline[0]) is not None]
            others = [point for point in group if point not in able]
            if len(able) > 1 or (able and not any(doubts(point) for point in others)):
                decided.append((calls, len(able), able, others))
        _, _, able, others = max(decided, key=lambda found: found[:2], default=(0, 0, [], []))
        return able, others

    def _best(self, field: Sequence[Point]) -> Point:
        """The best in the first figure; of those that are the same there, in the next one."""
        left = list(field)
        for metric in self.headline:
            values = {id(point): clean(point, metric) for point in left}
            if None in values.values():
                continue  # a figure only some have decides nothing
            sign = 1 if metric.better is Better.LOWER else -1
            first, *others = sorted(left, key=lambda point: sign * (values[id(point)] or 0.0))
            left = [first]
            for other in others:
                ratio = _ratio(first, other, metric)
                if ratio is not None and self._alike(first, other, metric, ratio):
                    left.append(other)
        return left[0]

    def _alike(self, a: Point, b: Point, metric: Metric, ratio: Ratio) -> bool:
        return same(ratio, self._noise(a, b, metric))

    def _noise(self, a: Point, b: Point, metric: Metric) -> float | None:
        return max(_noises([a, b], metric), default=self._known_noise[metric.path])


def clean(point: Point, metric: Metric) -> float | None:
    """The point's figure over its clean repetitions."""
    return point.pooled(metric.path, metric.pool, clean=True)


def doubts(point: Point) -> list[str]:
    """The point's flags that are not the backend's own doing."""
    flags = dict.fromkeys(flag.name for record in point.records for flag in record.flags)
    return [name.value for name in flags if name not in NOTES | OWN]


def _headline(lane: Lane) -> list[Metric]:
    declared = {metric.path: metric for metric in lane.metrics}
    chosen = [declared[path] for path in lane.compared if path in declared]
    return [metric for metric in chosen if metric.better is not Better.NEITHER]


def _noises(some: Sequence[Point], metric: Metric) -> list[float]:
    values = ([value for r, value in point.figures(metric.path) if r.clean] for point in some)
    return [share for of_point in values if (share := noise(of_point)) is not None]


def _ratio(a: Point, b: Point, metric: Metric) -> Ratio | None:
    """a over b, paired by repetition; None where they share no figure, or one at or below zero."""
    of_a = {r.cell.repetition: value for r, value in a.figures(metric.path) if r.clean}
    of_b = {r.cell.repetition: value for r, value in b.figures(metric.path) if r.clean}
    ours, theirs = paired(of_a, of_b)
    if not ours or min(*ours, *theirs) <= 0:
        return None
    return paired_ratio(ours, theirs)
