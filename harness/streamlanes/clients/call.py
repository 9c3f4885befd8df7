"""People's own asynchronous code: an async function or an async generator, called as it is.

Of an async generator every piece is stamped when it is yielded. What an async function returns is
stamped at its end, all of it.
"""

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator
from typing import Any

from streamlanes.clients import own
from streamlanes.clients.base import Into, Setting, now_ns
from streamlanes.clients.heartbeat import Heartbeat, busy_clock

BLOCKED = "EventLoopBlocked"
WHY_BLOCKED = "the event loop stood still for 0.1 s or longer: something in it waits without await"


class Call:
    """The asynchronous form."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._function = own.opened(setting)
        self._watched = False

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as its setting: a function need not be one that can be pickled."""
        return (Call, (self._setting,))

    async def stream(self, into: Into) -> None:
        """One call of the function."""
        setting = self._setting
        if not self._watched:
            self._watch(asyncio.get_running_loop())
        url = own.base_url(setting, into.call)
        given = self._function(url, into.prompt)
        if inspect.isawaitable(given):
            given = await given
        if isinstance(given, AsyncIterator):
            count = await _pieces(given, into)
        else:
            count = own.took(given, now_ns(), into)
        own.ended(setting, into, count)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the loop watched, in the process that runs it."""
        self._watched = True
        if (busy_ns := busy_clock()) is not None:
            Heartbeat(loop, self._blocked, busy_ns)

    def _blocked(self) -> None:
        if self._setting.mishaps is not None:
            self._setting.mishaps.note(BLOCKED, WHY_BLOCKED)


async def _pieces(pieces: Any, into: Into) -> int:
    """Stamp the pieces as they come; how many words they had. A generator that is left early is
    closed, so that it can close its response."""
    count = 0
    async with contextlib.aclosing(pieces) if hasattr(pieces, "aclose") else contextlib.nullcontext():
        async for piece in pieces:
            count += own.took(piece, now_ns(), into)
    return count


open_client = Call
