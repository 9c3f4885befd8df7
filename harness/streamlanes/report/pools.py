"""Pool charts: what a bounded pool took beside what its width predicts, a row for each width.

The first path of the panel is what was measured; the others stand beside it: predicted, then what a
stopped cell would have taken.
"""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from streamlanes.lanes.base import Chart, Panel, Pool
from streamlanes.report import caption, marks, missing
from streamlanes.report.canvas import Sheet, text_in
from streamlanes.report.columns import x_of
from streamlanes.report.rows import ROW_IN, Row, frame, sections
from streamlanes.report.scales import Way, figures_axis
from streamlanes.report.style import FAINT, GREY, INK, look
from streamlanes.series import Point, line_order, setting
from streamlanes.words import number, plain

_PLOT_IN, _BELOW_IN, _KEY_IN = 6.6, 0.55, 0.3
_BESIDE: tuple[tuple[str, float, str], ...] = (("|", 15.0, "none"), ("d", 7.0, "white"), ("p", 7.0, "white"))
"""Marker, size and filling of the second, third and fourth path."""


def draw(chart: Chart, found: Sequence[Point], pools: Mapping[str, Pool]) -> Sheet | str:
    """The chart, or why there is nothing to draw."""
    axis = chart.x.removeprefix("cell.axes.")
    # Also a pool as wide as there are calls: it bounds nothing, and is what the narrow ones stand beside.
    bounded = sorted(
        (point for point in found if x_of(point, chart.x) is not None),
        key=lambda p: (line_order(p.line.without(axis)), x_of(p, chart.x) or 0),
    )
    paths = [path for panel in chart.panels for path in panel.y]
    if not bounded:
        return f"no cell of this run has a {chart.x_axis}"
    panels = [panel for panel in chart.panels if any(_all(panel, point) for point in bounded)]
    if not panels:
        return missing.why_empty(bounded, paths)
    notes = [chart.note] if chart.note else []
    notes += marks.about_marks(bounded, [panel.y[0] for panel in panels])
    notes += missing.not_drawn([(panel.axis, panel.y[0]) for panel in panels], bounded)

    def name(point: Point) -> str:
        x = x_of(point, chart.x)
        label = point.line.without(axis).label
        return label if x is None else f"{label}, {setting(axis, plain(x))}"

    rows = sections(bounded, name)
    names_in = max(text_in(row.name, 8.5) for row in rows) + 0.15
    height = len(rows) * ROW_IN + _BELOW_IN + _KEY_IN
    under = caption.lines(bounded, chart.told)
    sheet = Sheet(0.2 + names_in + _PLOT_IN + 0.35, height * len(panels), chart.title, notes, under)
    for place, panel in enumerate(panels):
        axes = sheet.axes(0.2 + names_in, place * height + _KEY_IN, _PLOT_IN, len(rows) * ROW_IN)
        _panel(axes, panel, rows, pools)
    return sheet


def _all(panel: Panel, point: Point) -> list[float]:
    """Every figure of a row, as drawn."""
    measured = [value * panel.scale for _, value in point.figures(panel.y[0])]
    return measured + [value for value in _beside(panel, point) if value is not None]


def _beside(panel: Panel, point: Point) -> list[float | None]:
    """The figures beside the measured one. They are reckoned, so a stopped cell has them too."""
    made: list[float | None] = []
    for path in panel.y[1:]:
        value = x_of(point, path)
        made.append(None if value is None else value * panel.scale)
    return made


def _panel(axes: Axes, panel: Panel, rows: Sequence[Row[Point]], pools: Mapping[str, Pool]) -> None:
    frame(axes, rows, named=True)
    every = [value for row in rows if row.point is not None for value in _all(panel, row.point)]
    figures_axis(axes, Way.X, every, log=panel.log, room=0.24)
    axes.set_xlabel(panel.axis)
    used: set[int] = set()
    for row in rows:
        if row.point is not None:
            used |= _row(axes, panel, row.point, row.place, pools)
    _key(axes, panel, used)


def _row(axes: Axes, panel: Panel, point: Point, place: int, pools: Mapping[str, Pool]) -> set[int]:
    how = look(point.line)
    found = marks.dots(point, panel, pools)
    every = _all(panel, point)
    used: set[int] = set()
    if every:
        axes.plot([min(every), max(every)], [place, place], color=FAINT, linewidth=2.5, zorder=2)
    for which, value in enumerate(_beside(panel, point)):
        if value is None or which >= len(_BESIDE):
            continue
        marker, size, filling = _BESIDE[which]
        axes.plot(
            [value], [place], marker=marker, markersize=size, markerfacecolor=filling, linestyle="none",
            markeredgecolor=INK if which == 0 else how.colour, markeredgewidth=1.4,
            zorder=6 if which == 0 else 4,
        )  # fmt: skip
        used.add(which + 1)
    if found is not None:
        marks.draw_dots(axes, how, found, place, Way.X)
        used.add(0)
    stopped = marks.stop(point)
    text = (
        number(found.middle) if found is not None else (stopped.text if stopped is not None else "no figure")
    )
    end = max(every) if every else axes.get_xlim()[0]
    axes.annotate(
        text,
        (end, place),
        xytext=(9, 0),
        textcoords="offset points",
        va="center",
        size=7.5,
        color=INK if found is not None else GREY,
    )
    return used


def _key(axes: Axes, panel: Panel, used: set[int]) -> None:
    if len(panel.labels) != len(panel.y):
        return
    handles = []
    for which in sorted(used):
        marker, size, filling = ("o", 6.5, GREY) if which == 0 else _BESIDE[which - 1]
        handles.append(
            Line2D([], [], marker=marker, markersize=size, markerfacecolor=filling, markeredgecolor=INK,
                   linestyle="none", label=panel.labels[which])
        )  # fmt: skip
    axes.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=len(handles),
        frameon=False,
        fontsize=8,
        handletextpad=0.3,
        borderaxespad=0.2,
    )
