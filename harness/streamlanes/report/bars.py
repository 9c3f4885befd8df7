"""Bar charts: a bar per backend and size, its parts stacked; the panels side by side share the names.

A bar's length is its figure, so bars start at zero on a plain scale. A panel declared logarithmic
shows marks in place of bars, and only its first path: logarithms do not add up.
"""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from streamlanes.lanes.base import Chart, Panel, Pool
from streamlanes.report import caption, marks, missing
from streamlanes.report.canvas import Sheet, text_in
from streamlanes.report.rows import ROW_IN, Row, frame, sections
from streamlanes.report.scales import Way, figures_axis
from streamlanes.report.style import GREY, INK, look, shade
from streamlanes.series import Point
from streamlanes.words import number

_PANEL_IN, _GAP_IN, _BELOW_IN, _KEY_IN = 2.75, 0.45, 0.55, 0.28
_PARTS: tuple[tuple[float, str], ...] = ((1.0, ""), (0.35, "////"), (0.15, "...."), (0.6, "xxxx"))
"""How strong and with which hatching each part of a bar is filled."""


def draw(chart: Chart, found: Sequence[Point], pools: Mapping[str, Pool]) -> Sheet | str:
    """The chart, or why there is nothing to draw."""
    paths = [path for panel in chart.panels for path in _paths(panel)]
    panels = [
        panel for panel in chart.panels if any(_total(panel, point, pools) is not None for point in found)
    ]
    if not panels:
        return missing.why_empty(found, paths)
    notes = [chart.note] if chart.note else []
    notes += marks.about_marks(found, paths)
    notes += missing.not_drawn([pair for panel in chart.panels for pair in _named_paths(panel)], found)
    rows = sections(found, lambda point: point.line.label, caption.counted(found[0]))
    names_in = max(text_in(row.name, 8.5) for row in rows) + 0.15
    key_in = _KEY_IN if any(len(_paths(panel)) > 1 for panel in panels) else 0.1
    width = 0.2 + names_in + len(panels) * (_PANEL_IN + _GAP_IN) + 0.1
    height = len(rows) * ROW_IN
    sheet = Sheet(width, key_in + height + _BELOW_IN, chart.title, notes, caption.lines(found, chart.told))
    for place, panel in enumerate(panels):
        left = 0.2 + names_in + place * (_PANEL_IN + _GAP_IN)
        axes = sheet.axes(left, key_in, _PANEL_IN, height)
        frame(axes, rows, named=place == 0)
        _panel(axes, panel, rows, pools, first=place == 0)
    return sheet


def _paths(panel: Panel) -> tuple[str, ...]:
    return panel.y[:1] if panel.log else panel.y


def _named_paths(panel: Panel) -> list[tuple[str, str]]:
    """What each part is called in a foot note, and its path."""
    if len(panel.y) == 1 or len(panel.labels) != len(panel.y):
        return [(panel.axis, path) for path in _paths(panel)]
    return [(f"{panel.axis} ({label})", path) for label, path in zip(panel.labels, panel.y, strict=True)]


def _panel(
    axes: Axes, panel: Panel, rows: Sequence[Row[Point]], pools: Mapping[str, Pool], *, first: bool
) -> None:
    points = [(row.place, row.point) for row in rows if row.point is not None]
    if panel.log:
        dots = [(place, point, marks.dots(point, panel, pools)) for place, point in points]
        values = [value for _, _, found in dots if found is not None for value in found.values]
        marks.scale_figures(axes, Way.X, panel, values, room=0.2)
        for place, point, found in dots:
            if found is not None:
                marks.draw_dots(axes, look(point.line), found, place, Way.X)
    else:
        ends = [end for place, point in points for end in _bar(axes, panel, point, place, pools)]
        figures_axis(axes, Way.X, ends, log=False, room=0.2)
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=4)
        _key(axes, panel)
    axes.set_xlabel(panel.axis)
    for place, point in points:
        _say(axes, panel, point, place, pools, first=first)


def _bar(axes: Axes, panel: Panel, point: Point, place: int, pools: Mapping[str, Pool]) -> list[float]:
    """Draw one bar; returns where its parts end. Negative parts go to the left."""
    colour = look(point.line).colour
    doubted = any(not record.clean for record, _ in point.figures(panel.y[0]))
    above, below = 0.0, 0.0
    for value, (strength, hatch) in zip(_parts(panel, point, pools), _PARTS, strict=False):
        if value is None:
            continue
        axes.barh(
            place,
            value,
            left=above if value >= 0 else below,
            height=0.62,
            facecolor="white" if doubted and not hatch else shade(colour, strength),
            edgecolor=colour,
            hatch=hatch,
            linewidth=1.1 if doubted else 0.6,
            zorder=3,
        )
        above, below = above + max(value, 0.0), below + min(value, 0.0)
    repeated = [value * panel.scale for _, value in point.figures(panel.y[0])]
    if len(panel.y) > 1 or len(repeated) < 2:
        return [above, below]
    axes.plot(repeated, [place] * len(repeated), marker="|", markersize=7, color=INK, linewidth=1.0, zorder=5)
    return [above, below, *repeated]


def _parts(panel: Panel, point: Point, pools: Mapping[str, Pool]) -> list[float | None]:
    values = [point.pooled(path, pools.get(path, Pool.MEDIAN)) for path in _paths(panel)]
    return [None if value is None else value * panel.scale for value in values]


def _total(panel: Panel, point: Point, pools: Mapping[str, Pool]) -> float | None:
    known = [value for value in _parts(panel, point, pools) if value is not None]
    return sum(known) if known else None


def _say(
    axes: Axes, panel: Panel, point: Point, place: int, pools: Mapping[str, Pool], *, first: bool
) -> None:
    """The sum of the parts beside the bar; where there is none, why (in words once a row)."""
    known = [value for value in _parts(panel, point, pools) if value is not None]
    stopped = marks.stop(point)
    zero = 0.0 if not panel.log or axes.get_xscale() != "log" else axes.get_xlim()[0]
    if known:
        highest = max(value * panel.scale for _, value in point.figures(_paths(panel)[0]))
        end = max(highest, sum(value for value in known if value > 0), zero)
        _beside(axes, end, place, number(sum(known)), 8 if panel.log else 4, INK)
    elif stopped is not None:
        marks.draw_stop(axes, look(point.line), stopped, (zero, place), right_pt=7)
        _beside(axes, zero, place, stopped.text if first else "", 16, GREY)
    else:
        _beside(axes, zero, place, "no figure", 5, GREY)


def _beside(axes: Axes, end: float, place: int, text: str, gap_pt: float, colour: str) -> None:
    axes.annotate(
        text,
        (end, place),
        xytext=(gap_pt, 0),
        textcoords="offset points",
        va="center_baseline",
        size=7.5,
        color=colour,
    )


def _key(axes: Axes, panel: Panel) -> None:
    if len(panel.y) == 1 or len(panel.labels) != len(panel.y):
        return
    axes.legend(
        handles=[
            Patch(facecolor=shade(GREY, strength), edgecolor=GREY, hatch=hatch, label=label, linewidth=0.6)
            for label, (strength, hatch) in zip(panel.labels, _PARTS, strict=False)
        ],
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=len(panel.y),
        frameon=False,
        fontsize=7.5,
        handlelength=1.4,
        columnspacing=1.0,
        borderaxespad=0.2,
    )
