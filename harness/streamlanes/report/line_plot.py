"""One plot with a line per backend, and the strip above it for cells that have no figures."""

from collections.abc import Mapping

from matplotlib.axes import Axes

from streamlanes.lanes.base import Panel, Pool
from streamlanes.report import marks
from streamlanes.report.canvas import text_in
from streamlanes.report.columns import Column
from streamlanes.report.labels import Named, name_lines
from streamlanes.report.scales import Way, figures_axis, sizes_axis
from streamlanes.report.style import GREY, SHADE, line_style, look
from streamlanes.series import Line


def draw_lines(axes: Axes, panel: Panel, column: Column, pools: Mapping[str, Pool]) -> None:
    """Every repetition a point, a line through what the repetitions pool to, names at the ends."""
    axes.grid(visible=True, axis="y")
    axes.set_ylabel(panel.axis)
    axes.tick_params(length=3)
    _across(axes, column)
    drawn: list[Named] = []
    dots: list[tuple[Line, float, marks.Dots]] = []
    for line in column.lines:
        pairs = [(x, marks.dots(point, panel, pools)) for x, point in column.of(line)]
        known = [(x, found) for x, found in pairs if found is not None]
        dots += [(line, x, found) for x, found in known]
        if known:
            xs, ys = [x for x, _ in known], [found.middle for _, found in known]
            drawn.append(Named(name=line.label, look=look(line), x=xs, y=ys))
    if not drawn:
        axes.set_yticks([])
        axes.text(0.5, 0.5, "no figure", transform=axes.transAxes, ha="center", color=GREY)
        return
    marks.scale_figures(axes, Way.Y, panel, [value for _, _, found in dots for value in found.values])
    for named in drawn:
        style = line_style(named.look)
        axes.plot(named.x, named.y, color=named.look.colour, linewidth=1.7, linestyle=style, zorder=4)
    for line, x, found in dots:
        marks.draw_dots(axes, look(line), found, x, Way.Y)
    name_lines(axes, drawn)


def _across(axes: Axes, column: Column) -> None:
    """A tick at every size that was set; round ones where x was measured."""
    if not column.measured:
        sizes_axis(axes, Way.X, column.sizes)
        return
    low, high = column.sizes[0], column.sizes[-1]
    figures_axis(axes, Way.X, column.sizes, log=low > 0 and high / low >= 4)


def stops(column: Column) -> list[tuple[Line, list[tuple[float, marks.Stop]]]]:
    """The lines that were stopped, each with the sizes at which it was and how."""
    found: dict[Line, list[tuple[float, marks.Stop]]] = {}
    for line in column.lines:
        for x, point in column.of(line):
            if (stopped := marks.stop(point)) is not None:
                found.setdefault(line, []).append((x, stopped))
    return list(found.items())


def draw_stops(axes: Axes, column: Column, margin_in: float) -> None:
    """The strip: a row for each line that was stopped, a mark at each size, so that none is lost.

    margin_in: the room right of the axes that names may use.
    """
    rows = stops(column)
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    _across(axes, column)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelbottom=False, labelleft=False)
    axes.set_facecolor(SHADE if rows else "none")
    for place, (line, stopped) in enumerate(rows):
        for x, how in stopped:
            marks.draw_stop(axes, look(line), how, (x, place))
        said = "; ".join(dict.fromkeys(how.text for _, how in stopped))
        _say(axes, (stopped[0][0], stopped[-1][0]), place, f"{line.label}: {said}", margin_in)


def _say(axes: Axes, ends: tuple[float, float], place: int, text: str, margin_in: float) -> None:
    """Left of the first mark if the text fits there, else right of the last one."""
    shares = axes.transAxes.inverted().transform(axes.transData.transform([(x, 0) for x in ends]))[:, 0]
    assert axes.figure is not None
    width_in = axes.bbox.width / axes.figure.dpi
    left_in, right_in = shares[0] * width_in, (1 - shares[1]) * width_in + margin_in
    right = text_in(text, 7.5) > left_in and right_in > left_in
    axes.annotate(
        text,
        (ends[1] if right else ends[0], place),
        xytext=(8 if right else -8, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center_baseline",
        size=7.5,
        annotation_clip=False,
    )
