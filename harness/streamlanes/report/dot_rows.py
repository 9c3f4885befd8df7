"""One plot with a row per backend: for a workload that was measured at one size."""

from collections.abc import Mapping

from matplotlib.axes import Axes

from streamlanes.lanes.base import Panel, Pool
from streamlanes.report import marks
from streamlanes.report.columns import Column
from streamlanes.report.scales import Way
from streamlanes.report.style import GREY, look
from streamlanes.words import number


def draw_rows(axes: Axes, panel: Panel, column: Column, pools: Mapping[str, Pool]) -> None:
    """Every repetition a point, the figure written beside; a row without one says why."""
    rows = {line: place for place, line in enumerate(column.lines)}
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [line.label for line in rows], size=8.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True)
    axes.set_xlabel(panel.axis)
    found = [(line, point, marks.dots(point, panel, pools)) for _, line, point in column.placed]
    values = [value for _, _, dots in found if dots is not None for value in dots.values]
    if values:
        marks.scale_figures(axes, Way.X, panel, values, room=0.16)
    else:
        axes.set_xticks([])
    for line, point, dots in found:
        stopped = marks.stop(point)
        if dots is not None:
            marks.draw_dots(axes, look(line), dots, rows[line], Way.X)
            _beside(axes, max(dots.values), rows[line], number(dots.middle))
        if stopped is not None:
            marks.draw_stop(axes, look(line), stopped, (axes.get_xlim()[1], rows[line]))
            _at_edge(axes, rows[line], stopped.text)
        elif dots is None:
            _at_edge(axes, rows[line], "no figure")


def _beside(axes: Axes, x: float, row: int, text: str) -> None:
    axes.annotate(text, (x, row), xytext=(8, 0), textcoords="offset points", va="center_baseline", size=7.5)


def _at_edge(axes: Axes, row: int, text: str) -> None:
    axes.annotate(
        text,
        (1.0, row),
        xycoords=("axes fraction", "data"),
        xytext=(-9, 0),
        textcoords="offset points",
        ha="right",
        va="center_baseline",
        size=7.5,
        color=GREY,
    )
