"""The host's speed beside a cell, by the calibration loop."""

import math
import time
from collections.abc import Callable

from streamlanes.probe.host import spin_ms

PAUSE_S = 0.4
MOST_S = 1.6
"""A host that is slow just now is looked at again for this long at the most."""
SHARE = 0.2
"""And no longer than this share of the cell: a short one would take less time than its looks."""
NEAR = 1.1
"""This close to the fastest look of the run it is as fast as usual."""


class Speed:
    """What the calibration loop takes, against the fastest look that a run has had.

    A shared host changes its speed for half a second at a time (decision 9). That is averaged over by
    a cell of many seconds, so a slow look alone says little: it is repeated for about two seconds. A
    host that stays slow is what the figure is to tell.
    """

    def __init__(
        self, spin: Callable[[], float] = spin_ms, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._spin = spin
        self._sleep = sleep
        self._fastest_ms = math.inf

    def look(self, cell_s: float) -> float:
        """CPU time of the loop in ms, the best of as many looks as it takes. cell_s: how long the cell is."""
        best_ms = self._spin()
        for _ in range(int(min(MOST_S, SHARE * cell_s) / PAUSE_S)):
            if best_ms <= NEAR * self._fastest_ms:
                break
            self._sleep(PAUSE_S)
            best_ms = min(best_ms, self._spin())
        self._fastest_ms = min(self._fastest_ms, best_ms)
        return best_ms
