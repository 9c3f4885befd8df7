"""No network: wait until each token is due, on the absolute schedule. What the model alone costs.

One plain sleep a token, as people write it; a sleep that ends early is stamped early, because that
is what rule 1 wants to see.
"""

import asyncio

from streamlanes.clients.base import Into, Setting, model_start_ns, now_ns
from streamlanes.samples import ORIGIN, RELEASED, Outcome

HOLD_POLL_S = 1.0
"""How often a held call looks whether it may go on: rarely, since 10,000 calls do it at once."""


class Timer:
    """The asynchronous form."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    async def stream(self, into: Into) -> None:
        """Wait for each token of the call."""
        schedule = self._setting.schedule
        header, start, first, offset = (schedule[name] for name in ("header", "start", "first", "offset"))
        start_ns = model_start_ns(header[ORIGIN] + start[into.call], now_ns())
        into.stamp("sent", start_ns)
        for row in range(first[into.call], first[into.call + 1]):
            left_ns = start_ns + offset[row] - now_ns()
            if left_ns > 0:
                await asyncio.sleep(left_ns / 1e9)
            into.tokens(1, now_ns())
            if self._setting.hold:
                while not header[RELEASED]:
                    await asyncio.sleep(HOLD_POLL_S)
                start_ns = 0  # nothing is timed any more: the rest has been due for long
        into.end(Outcome.OK, now_ns())


open_client = Timer
