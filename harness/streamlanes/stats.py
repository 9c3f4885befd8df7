"""Repetitions into one figure, and two cells into a ratio with its interval. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import linear_regression, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlanes.lanes.base import Pool

# Two-sided 95 % points (upper tail 0.975) of Student's t by degrees of freedom.
# Source: NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2.
_T_FIRST = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_T_LATER = ((100, 1.984), (60, 2.000), (40, 2.021), (30, 2.042))

# Keyed by the name itself: statistics stand below the lanes and may not import them to run.
_POOLS: "dict[str, Callable[[Sequence[float]], float]]" = {"median": median, "max": max}


@dataclass(frozen=True)
class Spread:
    """The middle and the ends of a cell's repetitions, in the figure's own unit."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Ratio:
    """How many times a is b: geometric mean over `pairs`, and its 95 % interval.

    low and high are None where there is one pair: one difference says nothing of the next.
    """

    value: float
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True)
class Fit:
    """A straight line: what y is without any x, and what one more x adds."""

    intercept: float
    slope: float


def pool(values: Sequence[float], how: "Pool") -> float:
    """The one figure of several repetitions; raises ValueError where there is none."""
    if not values:
        raise ValueError("no value to pool")
    return _POOLS[how](values)


def spread(values: Sequence[float]) -> Spread:
    """Median and range; raises ValueError where there is no value."""
    if not values:
        raise ValueError("no value to spread")
    return Spread(median(values), min(values), max(values), len(values))


def t95(degrees: int) -> float:
    """Student's t for a two-sided 95 % interval.

    Between table rows the next smaller number of degrees is used, which makes the interval wider.
    """
    if degrees < 1:
        raise ValueError(f"an interval needs two pairs or more, got {degrees} degrees of freedom")
    if degrees <= len(_T_FIRST):
        return _T_FIRST[degrees - 1]
    return next(value for least, value in _T_LATER if degrees >= least)


def paired(a: Mapping[int, float], b: Mapping[int, float]) -> tuple[list[float], list[float]]:
    """Figures by repetition, side by side: those of the same repetition, measured next to each other; then
    what is left over in order, for a repetition in place of a spoilt one has another number."""
    both = sorted(a.keys() & b.keys())
    of_a, of_b = ([*both, *sorted(one.keys() - both)] for one in (a, b))
    pairs = min(len(of_a), len(of_b))
    return [a[i] for i in of_a[:pairs]], [b[i] for i in of_b[:pairs]]


def paired_ratio(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """a over b, the i-th of each from the same repetition (see `paired`).

    The logarithms are averaged, so that a/b and b/a say the same thing. Raises ValueError for
    unequal lengths, no pair, or a figure at or below zero (which has no ratio).
    """
    if len(a) != len(b) or not a:
        raise ValueError(f"pairs are needed, got {len(a)} and {len(b)} values")
    if min(*a, *b) <= 0:
        raise ValueError("a figure at or below zero has no ratio")
    logs = [math.log(x / y) for x, y in zip(a, b, strict=True)]
    mean = math.fsum(logs) / len(logs)
    if len(logs) == 1:
        return Ratio(math.exp(mean), None, None, 1)
    variance = math.fsum((x - mean) ** 2 for x in logs) / (len(logs) - 1)
    half = t95(len(logs) - 1) * math.sqrt(variance / len(logs))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs))


def fit_line(xs: Sequence[float], ys: Sequence[float]) -> Fit:
    """The line of least squares through the pairs. Raises ValueError unless two xs differ."""
    if len(xs) != len(ys) or len(set(xs)) < 2:
        raise ValueError("a line needs as many ys as xs, and two xs that differ")
    slope, intercept = linear_regression(xs, ys)
    return Fit(intercept=intercept, slope=slope)


def noise(values: Sequence[float]) -> float | None:
    """Half the range of a cell's repetitions as a share of their median (0.02 is 2 %).

    None with fewer than two repetitions or a median at or below zero: then nothing is known of it.
    """
    if len(values) < 2 or median(values) <= 0:
        return None
    return (max(values) - min(values)) / 2 / median(values)


def same(ratio: Ratio, noise_share: float | None) -> bool:
    """Whether a and b may be called the same: the interval holds 1, or the difference is below noise.

    With neither an interval nor a known noise no difference may be claimed, so the answer is True.
    """
    if ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high:
        return True
    if noise_share is None:
        return ratio.low is None
    return abs(ratio.value - 1) < noise_share
