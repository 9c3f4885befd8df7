"""The marks of a chart: a point a repetition, the median, the range, and cells that were stopped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from streamlanes.lanes.base import Panel, Pool
from streamlanes.record import NOTES, StatusName
from streamlanes.report.scales import Way, figures_axis
from streamlanes.report.style import GREY, INK, STOPPED_MARKS, Look
from streamlanes.series import Point, by_reason
from streamlanes.words import short_ending

_NAMES_SAID = 6
_SMALL_PT, _LARGE_PT = 3.6, 6.5


@dataclass(frozen=True, kw_only=True)
class Dots:
    """A point's figures on one panel, scaled as drawn. doubted: which of them are flagged."""

    values: tuple[float, ...]
    doubted: tuple[bool, ...]
    middle: float


@dataclass(frozen=True)
class Stop:
    """Repetitions of a point that did not end ok, in a few words."""

    status: StatusName
    text: str


def dots(point: Point, panel: Panel, pools: Mapping[str, Pool]) -> Dots | None:
    """The point's figures at the panel's first path; None where no repetition has one."""
    path = panel.y[0]
    middle = point.pooled(path, pools.get(path, Pool.MEDIAN))
    if middle is None:
        return None
    found = point.figures(path)
    return Dots(
        values=tuple(value * panel.scale for _, value in found),
        doubted=tuple(not record.clean for record, _ in found),
        middle=middle * panel.scale,
    )


def stop(point: Point) -> Stop | None:
    """How the point's repetitions were stopped; None if all ended ok."""
    stopped = point.stopped
    if not stopped:
        return None
    part = "" if len(stopped) == len(point.records) else f" ({len(stopped)} of {len(point.records)})"
    return Stop(stopped[0].status.name, short_ending(stopped[0]) + part)


def scale_figures(axes: Axes, way: Way, panel: Panel, values: Sequence[float], room: float = 0.0) -> None:
    """Scale the axis of the panel's figures, and draw its ideal where the scale has a place for it."""
    figures_axis(axes, way, values, log=panel.log, room=room)
    scale = axes.get_xscale() if way is Way.X else axes.get_yscale()
    if panel.ideal is not None and (scale != "log" or panel.ideal > 0):
        _ideal_line(axes, panel.ideal * panel.scale, way)


def draw_dots(axes: Axes, look: Look, found: Dots, at: float, along: Way) -> None:
    """Every repetition small, the range a thin bar, the pooled one large; hollow where flagged."""

    def place(value: float) -> tuple[float, float]:
        return (value, at) if along is Way.X else (at, value)

    if len(found.values) > 1:
        (x0, y0), (x1, y1) = place(min(found.values)), place(max(found.values))
        axes.plot([x0, x1], [y0, y1], color=look.colour, linewidth=1.1, solid_capstyle="butt", zorder=3)
        for value, doubted in zip(found.values, found.doubted, strict=True):
            _mark(axes, look, place(value), _SMALL_PT, hollow=doubted)
    _mark(axes, look, place(found.middle), _LARGE_PT, hollow=any(found.doubted))


def draw_stop(axes: Axes, look: Look, found: Stop, at: tuple[float, float], right_pt: float = 0.0) -> None:
    """The mark of a stopped cell at a place in data units, moved right by some points."""
    assert axes.figure is not None
    moved = axes.transData + ScaledTranslation(right_pt / 72, 0, axes.figure.dpi_scale_trans)
    axes.plot(
        [at[0]],
        [at[1]],
        marker=STOPPED_MARKS[found.status],
        markersize=7,
        color=look.colour,
        markeredgewidth=1.6 if found.status is StatusName.UNSUPPORTED else 0.6,
        linestyle="none",
        transform=moved,
        clip_on=False,
        scalex=False,
        scaley=False,
        zorder=6,
    )


def about_marks(points: Sequence[Point], paths: Sequence[str]) -> list[str]:
    """Foot notes that say what the marks mean, only for marks that are there."""
    said = []
    if any(len(point.figures(path)) > 1 for point in points for path in paths):
        said.append("Small marks: repetitions. Large marks: their median. Bars through them: their range.")
    flagged = [
        (f"{point.line.label} at {point.calls:,}", flag.name.value)
        for point in points
        for record in {id(r): r for path in paths for r, _ in point.figures(path)}.values()
        for flag in record.flags
        if flag.name not in NOTES
    ]
    if flagged:
        drawn = sum(1 for point in points if any(point.figures(path) for path in paths))
        each = [f"{name} ({_these(where, drawn)})" for name, where in by_reason(flagged)]
        said.append(f"Hollow: flagged, in no ratio: {'; '.join(each)}.")
    return said


def _these(names: Sequence[str], of: int) -> str:
    if len(names) == of > 1:
        return "all"
    more = f" and {len(names) - _NAMES_SAID} more" if len(names) > _NAMES_SAID else ""
    return ", ".join(names[:_NAMES_SAID]) + more


def _ideal_line(axes: Axes, value: float, way: Way) -> None:
    draw = axes.axvline if way is Way.X else axes.axhline
    draw(value, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    across = way is Way.Y
    axes.annotate(
        "ideal",
        (0.0, value) if across else (value, 1.0),
        xycoords=("axes fraction", "data") if across else ("data", "axes fraction"),
        xytext=(3, 2) if across else (0, 1),
        textcoords="offset points",
        ha="left" if across else "center",
        size=7.5,
        color=GREY,
    )


def _mark(axes: Axes, look: Look, at: tuple[float, float], size: float, *, hollow: bool) -> None:
    axes.plot(
        [at[0]],
        [at[1]],
        marker=look.marker,
        markersize=size * (1.35 if look.marker == "*" else 1.0),
        markerfacecolor="white" if hollow else look.colour,
        markeredgecolor=look.colour,
        markeredgewidth=1.2,
        linestyle="none",
        zorder=5,
    )
