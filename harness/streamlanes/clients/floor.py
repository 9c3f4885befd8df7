"""The fastest a Python event loop can be: a buffered protocol, callbacks, no read task.

`data_received` would allocate 256 KiB a read on asyncio and hand out a copy; a BufferedProtocol
reads into one buffer that all calls of the loop share, since it is emptied before the next read.
"""

import asyncio
from typing import cast

from streamlanes.clients.base import READ_BYTES, Into, now_ns, refused
from streamlanes.clients.tls import Connecting
from streamlanes.samples import Outcome
from streamlanes.wire.base import ProtocolError
from streamlanes.wire.http1 import HttpError, ResponseDecoder, post
from streamlanes.wire.sse import EventTooLong

_BUFFER = memoryview(bytearray(READ_BYTES))


class _Call(asyncio.BufferedProtocol):
    """One call's connection; `over` is done when the call has ended."""

    __slots__ = ("_answer", "_host", "_into", "_transport", "over")

    def __init__(self, into: Into, host: str, over: "asyncio.Future[None]") -> None:
        self._into = into
        self._host = host
        self._answer = ResponseDecoder()
        self._transport: asyncio.Transport | None = None
        self.over = over

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass of it
        self._transport = transport
        into = self._into
        now = now_ns()
        into.stamp("connected", now)
        into.stamp("sent", now)
        transport.write(post(self._host, into.path, into.request))

    def get_buffer(self, sizehint: int) -> memoryview:
        return _BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        now = now_ns()
        answer = self._answer
        try:
            body = answer.feed(bytes(_BUFFER[:nbytes]))
            if body and answer.status < 300:
                self._into.feed(body, now)
        except (HttpError, ProtocolError, EventTooLong):
            self._end(Outcome.PROTOCOL_ERROR)
            return
        if answer.status >= 300:
            self._end(refused(answer.status))
        elif answer.complete:
            self._into.closed(now)
            self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._into.closed(now_ns(), reset=exc is not None)
        self._end(None)

    def _end(self, how: Outcome | None) -> None:
        if how is not None:
            self._into.end(how, now_ns())
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        if not self.over.done():
            self.over.set_result(None)


class Floor(Connecting):
    """The asynchronous form."""

    async def stream(self, into: Into) -> None:
        """One call over one connection of its own."""
        host, port = self._setting.address(into.call)
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        try:
            transport, _ = await loop.create_connection(
                lambda: _Call(into, f"{host}:{port}", over), host, port, ssl=self._tls
            )
        except OSError:
            into.end(Outcome.CONNECT_ERROR, now_ns())
            return
        try:
            await over
        finally:
            transport.close()


open_client = Floor
