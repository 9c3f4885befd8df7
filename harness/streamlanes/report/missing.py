"""What a chart does not show, and why: nothing is left out in silence. Pure."""

from collections.abc import Sequence

from streamlanes.record import StatusName
from streamlanes.series import Point, by_reason

_NAMES_SAID = 4


def not_drawn(panels: Sequence[tuple[str, str]], points: Sequence[Point]) -> list[str]:
    """Foot notes for the figures that points ended ok without; panels are (name, path).

    One line for each reason and set of points; a whole workload is named as such.
    """
    axes_of: dict[str, list[str]] = {}
    for axis, path in panels:
        for reason, names in by_reason(_without(points, path)):
            said = f"{_where(names, points)}: {reason}."
            axes_of.setdefault(said, []).append(axis)
    return [f"No figure for {'; '.join(axes)}: {said}" for said, axes in axes_of.items()]


def why_empty(points: Sequence[Point], paths: Sequence[str]) -> str:
    """Why a chart has nothing to draw, in one line."""
    if not points:
        return "no cell of this run takes part"
    found = by_reason((point.line.label, point.why_missing(path)) for path in paths for point in points)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in found)


def _name(point: Point) -> str:
    return f"{point.line.label} at {point.calls:,} ({point.workload})"


def _without(points: Sequence[Point], path: str) -> list[tuple[str, str]]:
    return [
        (_name(point), point.why_missing(path))
        for point in points
        if point.pooled(path) is None and any(r.status.name is StatusName.OK for r in point.records)
    ]


def _where(names: Sequence[str], points: Sequence[Point]) -> str:
    left, said = list(names), []
    for workload in dict.fromkeys(point.workload for point in points):
        of_it = {_name(point) for point in points if point.workload == workload}
        if len(of_it) > 1 and of_it <= set(left):
            said.append(f"all of {workload}")
            left = [name for name in left if name not in of_it]
    more = len(left) - _NAMES_SAID
    said += left[:_NAMES_SAID]
    return ", ".join(said) + (f" and {more} more" if more > 0 else "")
