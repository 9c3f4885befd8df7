"""What a person set of a workload, read strictly."""

import math
from collections.abc import Mapping

from streamlanes.errors import UserError
from streamlanes.workload.draws import Dist

SetTo = Mapping[str, object]


def number(set_to: SetTo, axis: str, default: float) -> float:
    """A finite number, or the default where the axis was not set."""
    value = set_to.get(axis, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UserError(f"{axis} is {value!r}; it must be a number")
    return value


def dist(set_to: SetTo, axis: str, default: Dist) -> Dist:
    """A distribution: a number, its two parameters, or the default where the axis was not set."""
    value = set_to.get(axis, default)
    if isinstance(value, Dist):
        found = value
    elif isinstance(value, Mapping) and set(value) <= {"median", "sigma"} and "median" in value:
        found = Dist(number(value, "median", 0.0), number(value, "sigma", 0.0))
    else:
        found = Dist(number(set_to, axis, 0.0))
    if not 0 <= found.sigma <= 5:
        raise UserError(f"{axis}: sigma is {found.sigma:g}; it must be from 0 to 5")
    return found
