"""What a growth chart's columns hold: the points of one workload, each with its x. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

from streamlanes.lanes.base import Chart
from streamlanes.series import Line, Point, line_order
from streamlanes.words import plain


@dataclass(frozen=True, kw_only=True)
class Column:
    """The points of one workload (and of one size, where x is something else), as (x, line, point).

    A line is named without the axis that is drawn.
    """

    name: str
    placed: tuple[tuple[float, Line, Point], ...]

    @property
    def sizes(self) -> list[float]:
        """The x values, ascending."""
        return sorted({x for x, _, _ in self.placed})

    @property
    def single(self) -> bool:
        """Whether there is one x only, and so nothing to join with a line."""
        return len(self.sizes) == 1

    @property
    def lines(self) -> list[Line]:
        """The lines, in the registry's order."""
        return sorted({line for _, line, _ in self.placed}, key=line_order)

    @property
    def points(self) -> list[Point]:
        """The points alone."""
        return [point for _, _, point in self.placed]

    def of(self, line: Line) -> list[tuple[float, Point]]:
        """The points of one line, by x."""
        return sorted(((x, p) for x, other, p in self.placed if other == line), key=lambda pair: pair[0])


def columns(chart: Chart, points: Sequence[Point]) -> list[Column]:
    """The chart's columns, those with lines first. Points without an x are left to `unplaced`."""
    axis = chart.x.removeprefix("cell.axes.")
    groups: dict[tuple[str, int], list[tuple[float, Line, Point]]] = {}
    for point in points:
        if (x := x_of(point, chart.x)) is not None:
            size = 0 if chart.x == "cell.calls" else point.calls
            groups.setdefault((point.workload, size), []).append((x, point.line.without(axis), point))
    made = []
    for (workload, size), placed in groups.items():
        name = f"{workload} workload" + (f", {size:,} calls" if size else "")
        one = {x for x, _, _ in placed}
        if len(one) == 1:
            name += f", {plain(one.pop())} {chart.x_axis}"
        made.append(Column(name=name, placed=tuple(placed)))
    return sorted(made, key=lambda column: column.single)


def x_of(point: Point, path: str) -> float | None:
    """Where a point stands: what was set or, for a measured x, the middle one of its repetitions."""
    values = [value for record in point.records if (value := record.figure(path)) is not None]
    return median_low(values) if values else None


def unplaced(chart: Chart, points: Sequence[Point]) -> list[str]:
    """Foot notes for points that have no x."""
    lost = [point for point in points if x_of(point, chart.x) is None]
    return [f"Not placed: {p.line.label} at {p.calls:,} calls: {p.why_missing(chart.x)}." for p in lost]
