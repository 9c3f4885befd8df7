"""How an execution waits in an event loop.

Answers come from the store's thread, many at once after a group commit. One call wakes the loop for
all of them; a call each would cost more than a step does.
"""

import asyncio
import collections
import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from streamlanes.durable.writer import when_all_are_answered

T = TypeVar("T")


class Looping:
    """Waits in the running event loop, in which it must be made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._answered: collections.deque[asyncio.Future[None]] = collections.deque()
        self._woken = False

    async def result(self, of: "Future[T]") -> T:
        waiter: asyncio.Future[None] = self._loop.create_future()
        of.add_done_callback(partial(self._wake, waiter))
        await waiter
        return of.result()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def _wake(self, waiter: "asyncio.Future[None]", of: "Future[Any]") -> None:
        """From any thread."""
        self._answered.append(waiter)
        when_all_are_answered(self._ring)

    def _ring(self) -> None:
        """The flag is read after the append above, and cleared before the last look below: whichever
        comes later, somebody sees the waiter."""
        if self._woken:
            return
        self._woken = True
        try:
            self._loop.call_soon_threadsafe(self._answer)
        except RuntimeError:  # the loop is closed; nobody waits any more
            self._answered.clear()

    def _answer(self) -> None:
        self._woken = False
        while self._answered:
            waiter = self._answered.popleft()
            if not waiter.done():  # its task may have been cancelled
                waiter.set_result(None)


class InLoop(Looping):
    """A workflow in the running loop: plain functions go to a thread, since they would block it."""

    loops = True

    def here(self) -> object:
        """See acting.Acting."""
        try:
            return asyncio.current_task()
        except RuntimeError:  # asked from a thread that has no loop
            return None

    async def call(
        self, function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        """See acting.Acting."""
        if inspect.iscoroutinefunction(function):
            return await function(*args, **kwargs)
        return await asyncio.to_thread(function, *args, **kwargs)
