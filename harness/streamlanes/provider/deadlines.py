"""Who owes a whole request: a caller that drips one byte at a time must not keep its connection for ever."""

import asyncio
from typing import Protocol

REQUEST_S = 60.0
"""From a connection, or the first byte on a kept one, to the end of the request. Callers that are measured
at their limit may be slow to send, and none of those takes that long."""


class Owing(Protocol):
    """What is told that its time is over."""

    def too_late(self) -> None: ...


class Deadlines:
    """The connections that owe a request, the oldest debt first. One timer for all of them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit_s: float = REQUEST_S) -> None:
        self._loop = loop
        self._limit_s = limit_s
        self._until: dict[Owing, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, who: Owing) -> None:
        """The debt begins now, unless it had begun."""
        self._until.setdefault(who, self._loop.time() + self._limit_s)
        if self._timer is None:
            self._wait()

    def paid(self, who: Owing) -> None:
        """The request is there, or the connection is gone."""
        self._until.pop(who, None)

    def _wait(self) -> None:
        """Look again when the oldest debt is due, no more often than four times in a limit."""
        first = next(iter(self._until.values()))
        at = max(first, self._loop.time() + self._limit_s / 4)
        self._timer = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        now = self._loop.time()
        while self._until and next(iter(self._until.values())) <= now:
            who = next(iter(self._until))
            self.paid(who)
            who.too_late()
        self._timer = None
        if self._until:
            self._wait()

    def close(self) -> None:
        """Wait for nobody any more."""
        self._until.clear()
        if self._timer is not None:
            self._timer.cancel()
