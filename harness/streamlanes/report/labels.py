"""Names at the ends of lines, or a legend where they would run into something.

Everything is reckoned in pixels, after the limits of the axes are set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from streamlanes.report.style import INK, Look, line_style

_SIZE_PT = 8.5
_GAP_PX = 14.0
_CLEAR_PX = 5.0  # around a name: half a mark
_SHIFTS = (0.0, 0.6, -0.6, 1.2, -1.2, 1.8, -1.8, 2.4, -2.4, 3.0, -3.0)
"""How many text heights a name may be moved up or down, in the order tried."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """A drawn line: its name, its look, and its medians in data units, by x."""

    name: str
    look: Look
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class _Box:
    left: float
    bottom: float
    width: float
    height: float

    def holds(self, points: "np.typing.NDArray[np.float64]") -> bool:
        """Whether one of the points (pixels) is within, or too near to be told apart."""
        x, y = points[:, 0], points[:, 1]
        return bool(
            np.any(
                (x >= self.left - _CLEAR_PX)
                & (x <= self.left + self.width + _CLEAR_PX)
                & (y >= self.bottom - _CLEAR_PX)
                & (y <= self.bottom + self.height + _CLEAR_PX)
            )
        )

    def meets(self, other: "_Box") -> bool:
        """Whether the two overlap."""
        return (
            self.left < other.left + other.width
            and other.left < self.left + self.width
            and self.bottom < other.bottom + other.height
            and other.bottom < self.bottom + self.height
        )


def name_lines(axes: Axes, lines: Sequence[Named]) -> None:
    """Write each line's name where it ends: in the right margin, or beside its last point if it stops
    early. Where one of those has no free place, or the margin is too short, a legend names them all."""
    last = max(line.x[-1] for line in lines)
    full = [line for line in lines if line.x[-1] == last]
    short = [line for line in lines if line.x[-1] < last]
    sizes = {line.name: _size(axes, line.name) for line in lines}
    margin = _margin_places(axes, full, max(height for _, height in sizes.values()))
    beside = _beside_places(axes, short, lines, sizes)
    if margin is None or beside is None:
        _legend(axes, lines)
        return
    for line, y in zip(full, margin, strict=True):
        _named_at(axes, line, axes.bbox.x1 + _GAP_PX, y)
    for line, box in zip(short, beside, strict=True):
        _named_at(axes, line, box.left, box.bottom + box.height / 2)


def _margin_places(axes: Axes, lines: Sequence[Named], height: float) -> list[float] | None:
    """The y of each name: as near to its line's end as the others allow; None if they do not fit."""
    box = axes.bbox
    if height * len(lines) > box.height:
        return None
    wanted = [_pixels(axes, [line.x[-1]], [line.y[-1]])[0, 1] for line in lines]
    order = sorted(range(len(lines)), key=lambda at: wanted[at])
    placed = spread_out([wanted[at] for at in order], height, box.y0 + height / 2, box.y1 - height / 2)
    found = dict(zip(order, placed, strict=True))
    return [found[at] for at in range(len(lines))]


def spread_out(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Ascending places at least `gap` apart within low..high, each near the one wanted.

    Neighbours that are too near become one block around their common middle; blocks grow until none
    touch. The places must fit: gap x (count - 1) <= high - low.
    """
    blocks: list[list[float]] = []  # each: the wanted places of its members
    for place in wanted:
        blocks.append([place])
        while len(blocks) > 1 and _start(blocks[-1], gap, low, high) < (
            _start(blocks[-2], gap, low, high) + gap * len(blocks[-2])
        ):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [
        start + gap * at
        for block in blocks
        for start in [_start(block, gap, low, high)]
        for at in range(len(block))
    ]


def _start(block: Sequence[float], gap: float, low: float, high: float) -> float:
    length = gap * (len(block) - 1)
    middle = sum(block) / len(block)
    return min(max(middle - length / 2, low), high - length)


def _beside_places(
    axes: Axes, short: Sequence[Named], lines: Sequence[Named], sizes: dict[str, tuple[float, float]]
) -> list[_Box] | None:
    """A free box right of each line's last point; those that end at the same x are moved together."""
    taken = np.concatenate([_along(axes, line) for line in lines])
    inside = axes.bbox
    found: dict[str, _Box] = {}
    for x in sorted({line.x[-1] for line in short}):
        group = sorted((line for line in short if line.x[-1] == x), key=lambda line: line.y[-1])
        ends = [_pixels(axes, [x], [line.y[-1]])[0] for line in group]
        height = max(sizes[line.name][1] for line in group)
        low, high = inside.y0 + height / 2, inside.y1 - height / 2
        if height * (len(group) - 1) > high - low:
            return None
        for shift in _SHIFTS:
            wanted = [float(end[1]) + shift * height for end in ends]
            boxes = [
                _Box(float(ends[0][0]) + _GAP_PX, middle - height / 2, sizes[line.name][0], height)
                for line, middle in zip(group, spread_out(wanted, height, low, high), strict=True)
            ]
            others = list(found.values())
            if all(_free(box, taken, others, inside.x1) for box in boxes):
                found.update({line.name: box for line, box in zip(group, boxes, strict=True)})
                break
        else:
            return None
    return [found[line.name] for line in short]


def _free(box: _Box, taken: "np.typing.NDArray[np.float64]", others: Sequence[_Box], right: float) -> bool:
    inside = box.left + box.width <= right
    return inside and not box.holds(taken) and not any(box.meets(other) for other in others)


def _along(axes: Axes, line: Named) -> "np.typing.NDArray[np.float64]":
    """Pixels along a line, near enough to each other that no text fits between two."""
    corners = _pixels(axes, line.x, line.y)
    if len(corners) == 1:
        return corners
    steps = np.linspace(0, 1, 80)[:, None]
    return np.concatenate([a + (b - a) * steps for a, b in pairwise(corners)])


def _pixels(axes: Axes, x: Sequence[float], y: Sequence[float]) -> "np.typing.NDArray[np.float64]":
    return np.asarray(axes.transData.transform(np.column_stack((x, y))), dtype=np.float64)


def _size(axes: Axes, text: str) -> tuple[float, float]:
    probe = axes.text(0, 0, text, size=_SIZE_PT)
    extent = probe.get_window_extent()
    probe.remove()
    return extent.width * 1.05, extent.height * 1.15


def _named_at(axes: Axes, line: Named, x: float, y: float) -> None:
    """The name with a thin line from where its own line ends."""
    end_x, end_y = _pixels(axes, [line.x[-1]], [line.y[-1]])[0]
    (from_x, from_y), (to_x, to_y), (text_x, _) = _shares(axes, [(end_x + 6, end_y), (x - 4, y), (x, y)])
    leader = Line2D(
        [from_x, to_x],
        [from_y, to_y],
        transform=axes.transAxes,
        color=line.look.colour,
        linewidth=0.8,
        linestyle=(0, (1, 3)),  # dotted: it leads to a name and is no measurement
        clip_on=False,
    )
    axes.add_artist(leader)
    axes.text(
        text_x,
        to_y,
        line.name,
        transform=axes.transAxes,
        size=_SIZE_PT,
        color=INK,
        va="center",
        ha="left",
    )


def _shares(axes: Axes, pixels: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Pixels as shares of the axes: the saved files have other resolutions than the one reckoned in."""
    return [(float(x), float(y)) for x, y in axes.transAxes.inverted().transform(pixels)]


def _legend(axes: Axes, lines: Sequence[Named]) -> None:
    handles = [
        Line2D(
            [],
            [],
            color=line.look.colour,
            marker=line.look.marker,
            linestyle=line_style(line.look),
            label=line.name,
        )
        for line in lines
    ]
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize=_SIZE_PT,
        handlelength=2.4,
        borderaxespad=0,
    )
