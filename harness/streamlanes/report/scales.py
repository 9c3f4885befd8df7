"""Limits and ticks a person would choose: 1, 10, 100; 500, 2,000, 10,000; zero where there is a zero."""

import enum
import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from streamlanes.words import plain

_STEPS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (0.85, (1, 1.5, 2, 3, 4, 5, 7)),
    (2.2, (1, 2, 5)),
    (3.2, (1, 3)),
)
"""Up to how many decades which steps within one are named."""

_DECADES_SHOWN = 4  # of a symmetric scale; what is nearer to zero falls into its linear part


class Way(enum.StrEnum):
    """Which axis of a plot is meant."""

    X = "x"
    Y = "y"


def figures_axis(axes: Axes, way: Way, values: Sequence[float], *, log: bool, room: float = 0.0) -> None:
    """Set scale, limits and ticks for measured figures.

    A logarithmic axis that meets a zero or a negative figure becomes symmetric with a linear middle,
    so that nothing vanishes. room: share of the axis left free at its far end, for text.
    """
    if not values:
        return
    low, high = min(values), max(values)
    if not log:
        _linear(axes, way, low, high, room)
    elif low > high * 1e-9:
        _logarithmic(axes, way, low, high, room)
    else:
        _symmetric(axes, way, low, high, room)


def sizes_axis(axes: Axes, way: Way, values: Sequence[float]) -> None:
    """Set scale, limits and ticks for the sizes that were measured: a tick at each, named as set."""
    low, high = min(values), max(values)
    log = low > 0 and high / low >= 4
    if log:
        _scale(axes, way, "log")
    spread = (high / low) ** 0.06 if log else (high - low) * 0.06 or 1.0
    limits = (low / spread, high * spread) if log else (low - spread, high + spread)
    _set(axes, way, _apart(sorted(set(values)), log), limits)


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers within a range: many where it is short, then 1-2-5, 1-3, and powers of ten."""
    decades = math.log10(high / low)
    steps = next((steps for most, steps in _STEPS if decades <= most), (1.0,))
    first = math.floor(math.log10(low))
    powers = range(first, math.ceil(math.log10(high)) + 1)
    return [tick for p in powers for step in steps if low <= (tick := step * 10.0**p) <= high]


def _linear(axes: Axes, way: Way, low: float, high: float, room: float) -> None:
    low, high = min(low, 0.0), max(high, 0.0)
    span = high - low or 1.0
    bottom, top = low - (0.06 * span if low < 0 else 0.0), high + span * (0.08 + room / (1 - room))
    ticks = MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]).tick_values(bottom, top)
    _set(axes, way, [float(tick) for tick in ticks if bottom <= tick <= top], (bottom, top))


def _logarithmic(axes: Axes, way: Way, low: float, high: float, room: float) -> None:
    _scale(axes, way, "log")
    if high / low < 3:  # a flat picture stays flat: without this a difference of 2 % fills the chart
        middle = low * math.sqrt(high / low)
        low, high = min(low, middle / 1.8), max(high, middle * 1.8)
    pad = (high / low) ** 0.08
    top = high * pad * (high / low) ** (room / (1 - room))
    _set(axes, way, log_ticks(low / pad, top), (low / pad, top))


def _symmetric(axes: Axes, way: Way, low: float, high: float, room: float) -> None:
    size = max(abs(low), abs(high)) or 1.0
    top_power = math.ceil(math.log10(size))
    linear = 10.0 ** (top_power - _DECADES_SHOWN + 1)
    _scale(axes, way, "symlog", linthresh=linear, linscale=0.6)
    powers = [10.0**p for p in range(top_power - _DECADES_SHOWN + 1, top_power + 1)]
    ticks = [0.0, *(p for p in powers if p <= high), *(-p for p in powers if p <= -low)]
    bottom = min(low * 1.6, -linear * 0.4) if low < 0 else -linear * 0.4
    _set(axes, way, sorted(ticks), (bottom, max(high, linear) * (1.6 + 20 * room)))


def _apart(values: list[float], log: bool) -> list[float]:
    """The values whose labels do not run into each other; the ends always stay."""
    place = [math.log(value) if log else value for value in values]
    whole = place[-1] - place[0] or 1.0
    kept = [0]
    for at in range(1, len(values)):
        if (place[at] - place[kept[-1]]) / whole >= 0.13:
            kept.append(at)
        elif at == len(values) - 1 and len(kept) > 1:
            kept[-1] = at
    return [values[at] for at in kept]


def _set(axes: Axes, way: Way, ticks: Sequence[float], limits: tuple[float, float]) -> None:
    axis = _named(axes, way)
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    _limit(axes, way, *limits)


def _named(axes: Axes, way: Way) -> Axis:
    return axes.xaxis if way is Way.X else axes.yaxis


def _scale(axes: Axes, way: Way, name: str, **settings: float) -> None:
    getattr(axes, f"set_{way}scale")(name, **settings)


def _limit(axes: Axes, way: Way, low: float, high: float) -> None:
    getattr(axes, f"set_{way}lim")(low, high)
