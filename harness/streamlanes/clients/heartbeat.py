"""Notices that people's own code stops an event loop: a callback that should come when it is due.

It comes late for two reasons: the loop has much to do, or something in it waits without `await`
(`time.sleep`, a blocking client). Only the second leaves the CPU idle meanwhile, and is told.
"""

import asyncio
import time
from collections.abc import Callable

BEAT_S = 0.1
STILL_NS = 100_000_000
"""A beat this late, in a thread that worked for less than half of that, means a loop that stood still."""


class Heartbeat:
    """Beats on a loop until it is closed. tell: called for each beat that shows a stop.

    Ten callbacks a second, each reading two clocks: nothing beside the calls.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        tell: Callable[[], None],
        clock_ns: Callable[[], int] = time.perf_counter_ns,
        cpu_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._loop = loop
        self._tell = tell
        self._clock_ns = clock_ns
        self._cpu_ns = cpu_ns
        self._next()

    def _next(self) -> None:
        self._due_ns = self._clock_ns() + int(BEAT_S * 1e9)
        self._worked_ns = self._cpu_ns()
        self._loop.call_later(BEAT_S, self._beat)

    def _beat(self) -> None:
        late_ns = self._clock_ns() - self._due_ns
        if late_ns >= STILL_NS and self._cpu_ns() - self._worked_ns < late_ns / 2:
            self._tell()
        self._next()
