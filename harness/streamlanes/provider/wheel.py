"""A timer wheel on a 1 ms grid: one timer for all streams, so that a waiting stream costs one list slot.

Python's event loops round timers to the millisecond and uvloop's may come early or a whole tick
late, so the wheel has a timer of its own (timerfd) and is exact to the tick. Where there is no
timerfd it uses the loop's timers and is later by up to a millisecond.
"""

import asyncio
import contextlib
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
_TIMES = struct.Struct("qq")
"""A timespec: seconds and nanoseconds."""
_VALUE_AT = _TIMES.size


class Timer:
    """Calls back at absolute CLOCK_MONOTONIC times, at two of them if they are known.

    Two, because to set the timer that is a CPU's next is to program its hardware, on a virtual machine by
    way of the host: 7 us each time on the one this was measured on. One behind it costs 2, and when the first
    fires it is the interrupt that programs the hardware, as a rule of a CPU that is idle.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._fds: list[int] = []
        self._set_ns = [0, 0]  # what each was set to; 0 once it has fired
        if sys.platform != "linux":
            return
        libc = ctypes.PyDLL(None)  # keeps the interpreter's lock: neither call blocks
        self._settime = libc.timerfd_settime
        self._settime.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._spec = bytearray(2 * _TIMES.size)  # an itimerspec: the interval, then the value
        self._spec_at = ctypes.addressof(ctypes.c_char.from_buffer(self._spec))
        made = [libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC) for _ in self._set_ns]
        self._fds = [fd for fd in made if fd >= 0]
        if len(self._fds) < len(made):
            self.close()
        for which, fd in enumerate(self._fds):
            loop.add_reader(fd, self._fired, which)

    def at(self, first_ns: int, second_ns: int = 0) -> None:
        """Call back at first_ns, and at second_ns unless that is 0, in place of what was set before; that may
        fire too, and finds nothing due. Without timerfd only first_ns counts, and the loop's own timers."""
        if not self._fds:
            wait_s = max(0.0, (first_ns - time.perf_counter_ns()) / 1e9)
            self._loop.call_later(wait_s, self._callback)
            return
        one, other = self._set_ns
        if first_ns == one:
            first = 0
        elif first_ns == other:
            first = 1
        else:
            first = 0 if one == 0 or one > other > 0 else 1
            self._set(first, first_ns)
        if second_ns and self._set_ns[1 - first] != second_ns:
            self._set(1 - first, second_ns)

    def _set(self, which: int, due_ns: int) -> None:
        self._set_ns[which] = due_ns
        _TIMES.pack_into(self._spec, _VALUE_AT, due_ns // 1_000_000_000, due_ns % 1_000_000_000 or 1)
        self._settime(self._fds[which], _TFD_TIMER_ABSTIME, self._spec_at, None)

    def _fired(self, which: int) -> None:
        self._set_ns[which] = 0
        try:
            self._callback()
        finally:
            if not self._set_ns[which]:  # one that was set anew is not readable any more
                with contextlib.suppress(BlockingIOError):
                    os.read(self._fds[which], 8)

    def close(self) -> None:
        """Give the timers back."""
        for fd in self._fds:
            self._loop.remove_reader(fd)
            os.close(fd)
        self._fds = []


class Wheel(Generic[T]):
    """Hands the items of a tick to `fire(items, now_ns)`, once it is there: each at the first tick at or
    after its due time.

    slots: the items by their tick, as a number of ticks. Whoever puts in thousands a second may append to a
    slot that is there; what is not there yet is for `at` to make.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tick_ns: int, fire: Callable[[list[T], int], None]
    ) -> None:
        self._tick_ns = tick_ns
        self._fire = fire
        self.slots: dict[int, list[T]] = {}
        self._order: list[int] = []  # a heap of the ticks that have a slot
        self._turning = False  # the turn sets the timer itself when it ends
        self._timer = Timer(loop, self._turn)

    def at(self, due_ns: int, item: T) -> None:
        """Fire `item` at the tick that due_ns falls into, or at the next one if that has passed."""
        tick = -(-due_ns // self._tick_ns)
        slot = self.slots.get(tick)
        if slot is not None:
            slot.append(item)
            return
        self.slots[tick] = [item]
        heappush(self._order, tick)
        if self._order[0] == tick and not self._turning:
            self._timer.at(tick * self._tick_ns)

    def _turn(self) -> None:
        fire, order, tick_ns = self._fire, self._order, self._tick_ns
        self._turning = True
        try:
            while order:
                now = time.perf_counter_ns()
                if order[0] * tick_ns > now:
                    break
                fire(self.slots.pop(heappop(order)), now)
        finally:  # one tick's error must not stop all others for good
            self._turning = False
            if len(order) > 2:
                second = order[1] if order[1] < order[2] else order[2]  # of a heap; min() is slow when cold
                self._timer.at(order[0] * tick_ns, second * tick_ns)
            elif order:
                self._timer.at(order[0] * tick_ns)

    def close(self) -> None:
        """Stop firing."""
        self._timer.close()
