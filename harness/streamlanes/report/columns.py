"""What a growth chart's columns hold: the points of one workload, each with its x. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median_low

from streamlanes.lanes.base import Chart
from streamlanes.report.caption import counted
from streamlanes.series import Line, Point, line_order
from streamlanes.words import number, plain

# What sets the measured load of calls that come and go; drawn as x, so it names no line.
_PACES = ("time_scale", "ramp_s", "rate_per_s")


@dataclass(frozen=True, kw_only=True)
class Column:
    """The points of one workload (and of one size, where x is something else), as (x, line, point).

    x_axis: what x is. measured: whether x came out of the cells, so that no two are quite the same.
    A line is named without the axis that is drawn.
    """

    name: str
    x_axis: str
    measured: bool
    placed: tuple[tuple[float, Line, Point], ...]

    @property
    def sizes(self) -> list[float]:
        """The x values, ascending."""
        return sorted({x for x, _, _ in self.placed})

    @property
    def single(self) -> bool:
        """Whether there is one x only (or each line was measured once), and so nothing to join."""
        if self.measured:
            return len(self.placed) == len(self.lines)
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
    groups: dict[tuple[str, int, str, str], list[tuple[float, Line, Point]]] = {}
    for point in points:
        path, x_axis = chart.across(point.records[0])
        if (x := x_of(point, path)) is not None:
            size = point.calls if path.startswith("cell.axes.") else 0
            line = point.line
            for axis in _PACES if path.startswith("counts.") else (path.removeprefix("cell.axes."),):
                line = line.without(axis)
            groups.setdefault((point.workload, size, path, x_axis), []).append((x, line, point))
    made = []
    for (workload, size, path, x_axis), placed in groups.items():
        column = Column(
            name=f"{workload} workload" + (f", {size:,} {counted(placed[0][2])}" if size else ""),
            x_axis=x_axis,
            measured=path.startswith("counts."),
            placed=tuple(placed),
        )
        made.append(replace(column, name=column.name + _only_x(column)))
    if chart.growing and not all(column.single for column in made):
        made = [_grown(column) for column in made if not column.single]
    return sorted(made, key=lambda column: column.single)


def _grown(column: Column) -> Column:
    """The column with those lines that have points at several x; all of them where none has."""
    more = {line for line in column.lines if len({x for x, _ in column.of(line)}) > 1} or set(column.lines)
    return replace(column, placed=tuple(each for each in column.placed if each[1] in more))


def _only_x(column: Column) -> str:
    """Where a column has no axis for it, x is part of its name."""
    if not column.single:
        return ""
    low, high = column.sizes[0], column.sizes[-1]
    if not column.measured:
        return f", {plain(low)} {column.x_axis}"
    calls = sorted({point.calls for point in column.points})
    ends = dict.fromkeys(number(x) for x in (low, high))
    return f", {' and '.join(f'{size:,}' for size in calls)} calls, {' to '.join(ends)} {column.x_axis}"


def x_of(point: Point, path: str) -> float | None:
    """Where a point stands: what was set or, for a measured x, the middle one of its repetitions."""
    values = [value for record in point.records if (value := record.figure(path)) is not None]
    return median_low(values) if values else None


def unplaced(chart: Chart, points: Sequence[Point]) -> list[str]:
    """Foot notes for points that have no x."""
    placed = [(point, chart.across(point.records[0])[0]) for point in points]
    return [
        f"Not placed: {point.line.label} at {point.calls:,} {counted(point)}: {point.why_missing(path)}."
        for point, path in placed
        if x_of(point, path) is None
    ]
