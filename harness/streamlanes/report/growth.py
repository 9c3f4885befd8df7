"""Growth charts: a row a panel, a column a workload; a line per backend over x.

A workload with one x only has nothing to join: its backends become the rows of a dot plot.
"""

from collections.abc import Mapping, Sequence

from streamlanes.lanes.base import Chart, Panel, Pool
from streamlanes.report import caption, marks, missing
from streamlanes.report.canvas import Sheet, text_in
from streamlanes.report.columns import Column, columns, unplaced
from streamlanes.report.dot_rows import draw_rows
from streamlanes.report.line_plot import draw_lines, draw_stops, stops
from streamlanes.series import Point

_LEFT_IN, _RIGHT_IN, _BELOW_IN, _HEAD_IN = 0.85, 0.3, 0.62, 0.3
_STOP_IN, _ROW_LEAST_IN, _ROW_MOST_IN = 0.21, 0.3, 0.5


def draw(chart: Chart, found: Sequence[Point], pools: Mapping[str, Pool]) -> Sheet | str:
    """The chart, or why there is nothing to draw. Bounded pools hold fewer calls and are no line."""
    free = [point for point in found if not point.bounded]
    paths = [panel.y[0] for panel in chart.panels]
    shown = [column for column in columns(chart, free) if _has_figure(column.points, paths)]
    panels = [panel for panel in chart.panels if _has_figure(free, panel.y[:1])]
    if not shown or not panels:
        return missing.why_empty(free, paths)
    drawn = [point for column in shown for point in column.points]
    notes = [chart.note] if chart.note else []
    notes += marks.about_marks(drawn, paths)
    if bounded := dict.fromkeys(point.line.backend for point in found if point.bounded):
        notes.append(f"Bounded pools hold fewer calls by design and are left out: {', '.join(bounded)}.")
    if chart.growing and len(drawn) < len(free):
        notes.append("What was measured at one size only is not in this chart.")
    notes += missing.not_drawn([(panel.axis, panel.y[0]) for panel in chart.panels], free)
    notes += unplaced(chart, free)
    return _laid_out(chart, panels, shown, pools, notes)


def _has_figure(points: Sequence[Point], paths: Sequence[str]) -> bool:
    return any(point.pooled(path) is not None for point in points for path in paths)


def _laid_out(
    chart: Chart,
    panels: Sequence[Panel],
    shown: Sequence[Column],
    pools: Mapping[str, Pool],
    notes: list[str],
) -> Sheet:
    names = {id(column): max(text_in(line.label, 8.5) for line in column.lines) for column in shown}
    befores = [names[id(c)] + 0.15 if c.single else _LEFT_IN for c in shown]
    afters = [_RIGHT_IN if c.single else names[id(c)] + 0.5 for c in shown]
    plot_in = 6.4 if len(shown) == 1 else 3.8
    # Cells without figures are listed once, above the first panel: they are the same for all.
    stop_in = max((len(stops(column)) for column in shown if not column.single), default=0) * _STOP_IN
    line_in = 0.0 if all(column.single for column in shown) else 3.3 if len(panels) == 1 else 2.5
    rows = max((len(column.lines) for column in shown if column.single), default=0)
    deep_in = max(rows * _ROW_LEAST_IN, line_in or rows * _ROW_MOST_IN)
    pitch = deep_in + _BELOW_IN
    width = sum(befores) + sum(afters) + plot_in * len(shown) + 0.2
    drawn = [point for column in shown for point in column.points]
    body = _HEAD_IN + stop_in + pitch * len(panels)
    sheet = Sheet(width, body, chart.title, notes, caption.lines(drawn, chart.told))
    left = 0.1
    for column, before, after in zip(shown, befores, afters, strict=True):
        sheet.heading(left + before, 0.0, column.name)
        if stop_in and not column.single:
            draw_stops(sheet.axes(left + before, _HEAD_IN, plot_in, stop_in), column, after)
        for place, panel in enumerate(panels):
            top = _HEAD_IN + stop_in + place * pitch
            if column.single:
                height = min(deep_in, len(column.lines) * _ROW_MOST_IN)
                draw_rows(sheet.axes(left + before, top, plot_in, height), panel, column, pools)
                continue
            axes = sheet.axes(left + before, top, plot_in, deep_in)
            draw_lines(axes, panel, column, pools)
            if place == len(panels) - 1:
                axes.set_xlabel(column.x_axis)
        left += before + plot_in + after
    return sheet
