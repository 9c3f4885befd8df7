"""What a person set of a workload, read strictly."""

import math
from collections.abc import Mapping
from typing import TypeVar

from streamlanes.errors import UserError
from streamlanes.workload.draws import Dist, Draw, HeavyTailed, Looped
from streamlanes.workload.shape import Arrival

SetTo = Mapping[str, object]
D = TypeVar("D", bound=Draw)

MOST_TOKENS_PER_S = 20_000.0
"""The highest total rate a workload asks for by itself; a person may set more."""

LEAST_TAIL, MOST_TAIL = 1.05, 100.0
"""Of a heavy tail: nearer to 1 the mean is that of the few largest values alone."""

PACES = ("time_scale", "ramp_s", "rate_per_s")
"""Axes that each say how fast calls arrive, where they come and go."""


def number(set_to: SetTo, axis: str, default: float) -> float:
    """A finite number, or the default where the axis was not set."""
    value = set_to.get(axis, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UserError(f"{axis} is {value!r}; it must be a number")
    return value


def dist(set_to: SetTo, axis: str, default: D) -> D | Dist | HeavyTailed:
    """A distribution: a number, its two parameters, or the default where the axis was not set."""
    if axis not in set_to:
        return default
    value = set_to[axis]
    if isinstance(value, HeavyTailed):
        if not LEAST_TAIL <= value.tail <= MOST_TAIL:
            raise UserError(f"{axis}: tail is {value.tail:g}; it must be from {LEAST_TAIL} to {MOST_TAIL:g}")
        return value
    if isinstance(value, Dist):
        found = value
    elif isinstance(value, Mapping) and set(value) <= {"median", "sigma"} and "median" in value:
        found = Dist(number(value, "median", 0.0), number(value, "sigma", 0.0))
    else:
        found = Dist(number(set_to, axis, 0.0))
    if not 0 <= found.sigma <= 5:
        raise UserError(f"{axis}: sigma is {found.sigma:g}; it must be from 0 to 5")
    return found


def gap(set_to: SetTo, default: Dist) -> Dist | HeavyTailed | Looped:
    """The gap between tokens: as recorded where a recording was set, else as any distribution."""
    recorded = set_to.get("gaps")
    if not isinstance(recorded, Looped):
        return dist(set_to, "gap_ms", default)
    if "gap_ms" in set_to:
        raise UserError("gaps and gap_ms set the same thing; leave one out")
    return recorded


def arrival(set_to: SetTo, default: Arrival) -> Arrival:
    """How calls arrive. What belongs to one workload alone cannot be set for another."""
    if "arrival" not in set_to:
        return default
    settable = (Arrival.RAMP, Arrival.BURST, Arrival.POISSON)
    if set_to["arrival"] not in settable:
        raise UserError(f"unknown arrival {set_to['arrival']!r}; known: {', '.join(settable)}")
    return Arrival(str(set_to["arrival"]))


def pace(set_to: SetTo, real_s: float, usual_s: float, tokens_in_all: float) -> tuple[float, float | None]:
    """For how many seconds calls arrive, and how many times faster that is than they did.

    real_s: how long it took in reality. usual_s: where nothing is set. rate_per_s is the mean over
    that time. The scale is None where either time is no time at all.
    """
    given = [axis for axis in PACES if axis in set_to]
    if len(given) > 1:
        raise UserError(f"{' and '.join(given)} each say how fast calls arrive; set one of them")
    if "time_scale" in set_to:
        scale = number(set_to, "time_scale", 1.0)
        return real_s / scale, scale
    ramp_s = number(set_to, "ramp_s", usual_s)
    if "rate_per_s" in set_to:
        ramp_s = tokens_in_all / number(set_to, "rate_per_s", MOST_TOKENS_PER_S)
    return ramp_s, real_s / ramp_s if ramp_s > 0 and real_s > 0 else None
