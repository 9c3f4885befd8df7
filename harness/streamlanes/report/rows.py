"""Rows of a plot: a heading by workload and size, a line a row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from matplotlib.axes import Axes

ROW_IN = 0.27
"""Height of a row, and of a section's heading."""


class Sized(Protocol):
    """What a row can be about."""

    @property
    def calls(self) -> int: ...
    @property
    def workload(self) -> str: ...


Shown = TypeVar("Shown", bound=Sized)


@dataclass(frozen=True)
class Row(Generic[Shown]):
    """A place on the vertical axis, 0 at the top: a section's heading, or a point with its name."""

    place: int
    name: str
    point: Shown | None = None


def sections(
    points: Sequence[Shown], name: Callable[[Shown], str], counted: str = "calls"
) -> list[Row[Shown]]:
    """All rows, top to bottom: the points of each workload and size below their heading. counted: what the
    sizes are numbers of."""
    made: list[Row[Shown]] = []
    by_size = sorted(points, key=lambda p: (p.calls, p.workload))
    for (calls, workload), group in groupby(by_size, key=lambda p: (p.calls, p.workload)):
        made.append(Row(len(made), f"{calls:,} {counted}, {workload}"))
        for point in group:
            made.append(Row(len(made), name(point), point))
    return made


def frame(axes: Axes, rows: Sequence[Row[Shown]], *, named: bool) -> None:
    """Set the vertical axis: a name per row unless another plot beside has them, headings in bold."""
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")
    axes.tick_params(axis="y", length=0)
    names = [row.name for row in rows] if named else [""] * len(rows)
    axes.set_yticks([row.place for row in rows], names, size=8.5)
    for row, text in zip(rows, axes.get_yticklabels(), strict=True):
        if row.point is None:
            text.set_fontweight("bold")
            axes.axhspan(row.place - 0.5, row.place + 0.5, color="white", zorder=2)
