"""A series of values as the members of a distribution. Pure."""

import numpy as np
import numpy.typing as npt

from streamlanes.facts import Missing

Floats = npt.NDArray[np.float64]

MEMBERS = ("min", "p50", "p90", "p99", "p999", "max", "early_share", "count")
"""The members of every distribution in a record."""

_RANKS = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def distribution(values: Floats | Missing, none: str = "no call that ended ok") -> dict[str, float | Missing]:
    """The members of a distribution of signed milliseconds.

    Percentiles are nearest rank: each is a value that occurred. early_share: the share below 0.
    Without a value every member but the count is missing; `none` is why.
    """
    if isinstance(values, Missing):
        return dict.fromkeys(MEMBERS, values)
    if not len(values):
        nothing: dict[str, float | Missing] = dict.fromkeys(MEMBERS, Missing(none))
        return {**nothing, "count": 0}
    ordered = np.sort(values)
    last = len(ordered) - 1
    ranks = {
        name: float(ordered[min(last, int(np.ceil(share * len(ordered))) - 1)])
        for name, share in _RANKS.items()
    }
    return {
        "min": float(ordered[0]),
        **ranks,
        "max": float(ordered[-1]),
        "early_share": float((ordered < 0).mean()),
        "count": len(ordered),
    }
