"""Notices that people's own code stops an event loop: a callback that should come when it is due.

It comes late for three reasons: the loop has much to do, other programs have the CPU, or something in
it waits without `await` (`time.sleep`, a blocking client). Only in the third has its thread neither run
nor wanted to.
"""

import asyncio
import os
import time
from collections.abc import Callable

BEAT_S = 0.1
STILL_NS = 100_000_000
"""A beat this late, in a thread that ran or waited for a CPU for less than half of it, shows a stop."""

SCHEDSTAT = "/proc/thread-self/schedstat"


class Heartbeat:
    """Beats on a loop until it is closed. tell: called for each beat that shows a stop.

    busy_ns: for how long this thread has run and waited for a CPU. Ten callbacks a second, each with two
    readings: nothing beside the calls.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        tell: Callable[[], None],
        busy_ns: Callable[[], int],
        clock_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._loop = loop
        self._tell = tell
        self._busy_ns = busy_ns
        self._clock_ns = clock_ns
        self._next()

    def _next(self) -> None:
        self._due_ns = self._clock_ns() + int(BEAT_S * 1e9)
        self._was_busy_ns = self._busy_ns()
        self._loop.call_later(BEAT_S, self._beat)

    def _beat(self) -> None:
        late_ns = self._clock_ns() - self._due_ns
        if late_ns >= STILL_NS and self._busy_ns() - self._was_busy_ns < late_ns / 2:
            self._tell()
        self._next()


def busy_clock() -> Callable[[], int] | None:
    """This thread's clock of running and of waiting for a CPU; None where the kernel keeps none: then a
    loop that is kept from its CPU could not be told from one that stands still."""
    try:
        fd = os.open(SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None

    def read() -> int:
        ran, waited, _ = os.pread(fd, 100, 0).split()
        return int(ran) + int(waited)

    if read() == 0:
        os.close(fd)
        return None
    return read
