"""A timer wheel on a 1 ms grid: one timer for all streams, so that a waiting stream costs one list slot.

Python's event loops round timers to the millisecond and uvloop's may come early or a whole tick
late, so the wheel has a timer of its own (timerfd) and is exact to the tick. Where there is no
timerfd it uses the loop's timers and is later by up to a millisecond.
"""

import asyncio
import ctypes
import os
import struct
import sys
import time
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")

_CLOCK_MONOTONIC = 1
_TFD_TIMER_ABSTIME = 1


class _Timer:
    """Calls back at an absolute CLOCK_MONOTONIC time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._fd = -1
        if sys.platform == "linux":
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._fd = self._libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd >= 0:
            loop.add_reader(self._fd, self._fired)

    def at(self, due_ns: int) -> None:
        """Call back at due_ns. With timerfd in place of any earlier wish; the loop's own timers of earlier
        wishes fire too, and find nothing due."""
        if self._fd < 0:
            self._loop.call_later(max(0.0, (due_ns - time.perf_counter_ns()) / 1e9), self._callback)
            return
        seconds, rest = divmod(max(due_ns, 1), 1_000_000_000)
        self._libc.timerfd_settime(
            self._fd, _TFD_TIMER_ABSTIME, struct.pack("qqqq", 0, 0, seconds, rest), None
        )

    def _fired(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return  # set anew since it fired
        self._callback()

    def close(self) -> None:
        """Give the timer back."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)


class Wheel(Generic[T]):
    """Hands the items of a tick to `fire(items, now_ns)`, once it is there: each at the first tick at or
    after its due time."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tick_ns: int, fire: Callable[[list[T], int], None]
    ) -> None:
        self._tick_ns = tick_ns
        self._fire = fire
        self._slots: dict[int, list[T]] = {}
        self._order: list[int] = []  # a heap of the ticks that have a slot
        self._turning = False  # the turn sets the timer itself when it ends
        self._timer = _Timer(loop, self._turn)

    def at(self, due_ns: int, item: T) -> None:
        """Fire `item` at the tick that due_ns falls into, or at the next one if that has passed."""
        tick = -(-due_ns // self._tick_ns)
        slot = self._slots.get(tick)
        if slot is not None:
            slot.append(item)
            return
        self._slots[tick] = [item]
        heappush(self._order, tick)
        if self._order[0] == tick and not self._turning:
            self._timer.at(tick * self._tick_ns)

    def _turn(self) -> None:
        fire = self._fire
        self._turning = True
        try:
            while self._order:
                now = time.perf_counter_ns()
                tick = self._order[0]
                if tick * self._tick_ns > now:
                    break
                heappop(self._order)
                fire(self._slots.pop(tick), now)
        finally:  # one tick's error must not stop all others for good
            self._turning = False
            if self._order:
                self._timer.at(self._order[0] * self._tick_ns)

    def close(self) -> None:
        """Stop firing."""
        self._timer.close()
