"""The capacity chart: a row for each knee search. The mark is the highest rate borne, the bar ends at the
lowest that was not, and an arrow says that the knee may lie anywhere further on that way."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from streamlanes.capacity import Capacity
from streamlanes.lanes.base import Chart
from streamlanes.report.canvas import Sheet, text_in
from streamlanes.report.caption import machine_line
from streamlanes.report.marks import Dots, draw_dots
from streamlanes.report.rows import ROW_IN, frame, sections
from streamlanes.report.scales import Way, figures_axis
from streamlanes.report.style import GREY, INK, look
from streamlanes.series import by_reason
from streamlanes.words import plain

_PLOT_IN, _BELOW_IN, _TOP_IN = 6.4, 0.55, 0.1
_ARROW_PT = 24.0


def draw(chart: Chart, found: Sequence[Capacity]) -> Sheet | str:
    """The chart, or why there is nothing to draw."""
    if not found:
        return "no knee was sought in this run"
    ends = [end for one in found for end in _ends(one)]
    if not ends:
        return "; ".join(_notes(found))
    (panel,) = chart.panels
    rows = sections(found, _name)
    names_in = max(text_in(row.name, 8.5) for row in rows) + 0.15
    height = len(rows) * ROW_IN
    notes = [*([chart.note] if chart.note else []), *_about_marks(found), *_notes(found)]
    width = 0.2 + names_in + _PLOT_IN + 0.35
    sheet = Sheet(width, _TOP_IN + height + _BELOW_IN, chart.title, notes, _caption(found))
    axes = sheet.axes(0.2 + names_in, _TOP_IN, _PLOT_IN, height)
    frame(axes, rows, named=True)
    figures_axis(axes, Way.X, ends, log=panel.log, room=0.36)
    axes.set_xlabel(panel.axis)
    for row in rows:
        if row.point is not None:
            _row(axes, row.point, row.place)
    return sheet


def _ends(one: Capacity) -> list[float]:
    """The rates that a row draws. One at which provider or host failed says nothing of the client."""
    low, high = one.knee.bracket.bears_per_s, one.knee.bracket.fails_per_s
    known = (low, high if one.bounded_above else None)
    return [rate for rate in known if rate is not None]


def _name(one: Capacity) -> str:
    return f"{one.client}: {one.line.label}, within {plain(one.knee.bound_ms)} ms"


def _row(axes: Axes, one: Capacity, place: int) -> None:
    ends, low = _ends(one), one.knee.bracket.bears_per_s
    if not ends:
        _say(axes, axes.get_xlim()[0], place, one.bears, 6.0, GREY)
        return
    how, gap_pt = look(one.line), 9.0
    if low is None:
        _arrow(axes, ends[0], place, -_ARROW_PT, how.colour)
    elif len(ends) == 1:
        _arrow(axes, low, place, _ARROW_PT, how.colour)
        gap_pt += _ARROW_PT
    else:
        axes.plot(ends, [place, place], color=how.colour, linewidth=1.6, solid_capstyle="butt", zorder=3)
        axes.plot(
            ends[1:], [place], marker="|", markersize=9, color=how.colour, markeredgewidth=1.6, zorder=4
        )
    draw_dots(axes, how, Dots(values=(ends[0],), doubted=(low is None,), middle=ends[0]), place, Way.X)
    _say(axes, ends[-1], place, one.bears, gap_pt, INK)


def _arrow(axes: Axes, x: float, place: int, by_pt: float, colour: str) -> None:
    axes.annotate(
        "",
        (x, place),
        xytext=(by_pt, 0),
        textcoords="offset points",
        arrowprops={"arrowstyle": "<-", "color": colour, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0},
        zorder=3,
    )


def _say(axes: Axes, x: float, place: int, text: str, gap_pt: float, colour: str) -> None:
    axes.annotate(
        text,
        (x, place),
        xytext=(gap_pt, 0),
        textcoords="offset points",
        va="center_baseline",
        size=7.5,
        color=colour,
    )


def _about_marks(found: Sequence[Capacity]) -> list[str]:
    """Foot notes that say what the marks mean, only for marks that are there."""
    said = []
    if any(len(_ends(one)) == 2 for one in found):
        said.append("Mark: the highest rate borne. Bar: up to the lowest that was not.")
    if any(len(_ends(one)) == 1 for one in found):
        said.append("Arrow: the knee may lie anywhere on that way.")
    if any(_ends(one) and one.knee.bracket.bears_per_s is None for one in found):
        said.append("Hollow: the lowest rate asked for, not borne.")
    return said


def _notes(found: Sequence[Capacity]) -> list[str]:
    every = by_reason((_name(one), note) for one in found for note in one.notes)
    return [f"{'; '.join(names)}: {note}." for note, names in every]


def _caption(found: Sequence[Capacity]) -> list[str]:
    steps = [step for one in found for step in one.knee.steps]
    return [machine_line(steps[0].machine), f"{len(steps)} cells, up to three a rate."]
