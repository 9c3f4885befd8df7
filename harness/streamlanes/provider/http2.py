"""HTTP/2 in front of the same streams: one connection carries many calls.

An answer is rendered once, as HTTP/1.1. Here that framing is taken off again and HTTP/2's put on, so that
whatever a stream sends, faults included, is sent in both. Which protocol it is shows in a connection's
first bytes (over TLS it has been agreed on before).
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from streamlanes.provider.ask import Ask
from streamlanes.provider.deadlines import Deadlines
from streamlanes.provider.routes import Request, refusal, route
from streamlanes.provider.sending import Shared, sender
from streamlanes.provider.streams import Stream, Streams
from streamlanes.provider.writes import response
from streamlanes.wire.http1 import ResponseDecoder

MOST_STREAMS = 100
"""Calls at once on one connection: what servers commonly allow."""
MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 1 << 20
MAX_FRAMES_BYTES = 2 * MAX_HEAD_BYTES
"""What may come without anything being whole; a frame that claims to be larger is waited for no longer."""
MAX_UNSENT_BYTES = 1 << 20
"""Of one call, for which its caller has opened no window; more and the call ends."""
MAX_UNREAD_BYTES = 1 << 20
"""Of the connection, that its caller has not read; more and the connection ends."""
_LEFT_OUT = frozenset((b"connection", b"transfer-encoding", b"keep-alive"))
"""Headers that are about a connection, and none of HTTP/2's."""


class Way(Shared):
    """One call of a connection: what its stream takes for a transport."""

    def __init__(self, connection: "Http2", stream_id: int, asking: Request) -> None:
        self.asking = asking
        self.asked = False  # the whole request is there
        self.body: list[bytes] = []
        self.body_bytes = 0
        self.stream: Stream | None = None
        self._connection = connection
        self._id = stream_id
        self._decoder = ResponseDecoder()
        self._head = b""
        self._unsent = b""
        self._over = False

    def write(self, data: bytes) -> None:
        """Bytes of an HTTP/1.1 answer, cut anywhere."""
        if self._over:
            return
        try:
            if not self._decoder.status:
                self._head += data
                if b"\r\n\r\n" not in self._head:
                    return
                data, self._head = self._head, b""
                self._connection.h2.send_headers(self._id, _headers(data))
            self._unsent += self._decoder.feed(data)
            self.push()
        except H2Error:  # the caller has ended the connection
            self.gone()
        self._connection.flush()

    def push(self) -> None:
        """Send what the caller's window allows, and the end if all is sent."""
        h2 = self._connection.h2
        while self._unsent and (window := h2.local_flow_control_window(self._id)):
            size = min(window, h2.max_outbound_frame_size)
            h2.send_data(self._id, self._unsent[:size])
            self._unsent = self._unsent[size:]
        if len(self._unsent) > MAX_UNSENT_BYTES:
            self.break_off()
        elif self._decoder.complete and not self._unsent:
            self.close()

    def close(self) -> None:
        """The answer is over, whether or not it said so."""
        if self._over:
            return
        if not self._decoder.status:  # not even a head was sent
            self.break_off()
            return
        self._finish(lambda: self._connection.h2.end_stream(self._id))

    def break_off(self) -> None:
        """Reset this call; the connection has others."""
        if not self._over:
            self._finish(lambda: self._connection.h2.reset_stream(self._id, ErrorCodes.INTERNAL_ERROR))

    def _finish(self, say: Callable[[], None]) -> None:
        self.gone()
        with contextlib.suppress(H2Error):  # the caller has ended the connection
            say()
        self._connection.flush()

    def gone(self) -> None:
        """Nothing can be sent any more."""
        self._over = True
        self._connection.ways.pop(self._id, None)

    def is_closing(self) -> bool:
        """As a transport says it."""
        return self._over or self._connection.transport.is_closing()

    def get_extra_info(self, name: str) -> Any:
        """As a transport says it: of the connection."""
        return self._connection.transport.get_extra_info(name)


class Http2(asyncio.Protocol):
    """One connection that speaks HTTP/2, from its first byte on."""

    def __init__(
        self,
        streams: Streams,
        transport: asyncio.Transport,
        accepted_ns: int,
        deadlines: Deadlines,
        lost: Callable[[], None],
    ) -> None:
        self.transport = transport
        self.ways: dict[int, Way] = {}
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self._streams = streams
        self._accepted_ns = accepted_ns
        self._deadlines = deadlines
        self._lost = lost
        self._send, _ = sender(transport)
        self._unfinished_bytes = 0
        deadlines.begin(self)
        bounds = {
            SettingCodes.MAX_CONCURRENT_STREAMS: MOST_STREAMS,
            SettingCodes.MAX_HEADER_LIST_SIZE: MAX_HEAD_BYTES,
        }
        self.h2.local_settings = Settings(client=False, initial_values=bounds)
        self.h2.initiate_connection()

    def flush(self) -> None:
        """Send what is to be sent."""
        if data := self.h2.data_to_send():
            self._send(data)

    # asyncio's side

    def data_received(self, data: bytes) -> None:
        if self.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            self.transport.abort()  # it asks and asks, and reads nothing
            return
        try:
            events = self.h2.receive_data(data)
            for event in events:
                self._take(event)
        except H2Error:
            self.flush()  # it says what was wrong
            self.transport.close()
            return
        self.flush()
        self._unfinished_bytes = 0 if events else self._unfinished_bytes + len(data)
        if self._unfinished_bytes > MAX_FRAMES_BYTES:
            self.transport.abort()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        for way in list(self.ways.values()):
            self._leave(way)
        self._deadlines.paid(self)
        self._lost()

    def too_late(self) -> None:
        """The caller has not sent a whole request in time."""
        self.transport.abort()

    # HTTP/2's side

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            self.ways[event.stream_id] = Way(self, event.stream_id, _request(event.headers))
            self._deadlines.begin(self)
        elif isinstance(event, DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if way := self.ways.get(event.stream_id):
                way.body_bytes += len(event.data)
                if way.body_bytes <= MAX_BODY_BYTES:
                    way.body.append(event.data)
        elif isinstance(event, StreamEnded):
            if way := self.ways.get(event.stream_id):
                self._answer(way)
        elif isinstance(event, StreamReset):
            if way := self.ways.get(event.stream_id):
                self._leave(way)
        elif isinstance(event, WindowUpdated):
            for way in list(self.ways.values()):  # a connection's window is all its calls'
                way.push()

    def _answer(self, way: Way) -> None:
        way.asked = True
        if all(each.asked for each in self.ways.values()):
            self._deadlines.paid(self)
        found: Any = refusal(way.asking, 413, "body larger than 1 MiB")
        if way.body_bytes <= MAX_BODY_BYTES:
            found = route(replace(way.asking, body=b"".join(way.body)), self._streams)
        way.body.clear()
        if isinstance(found, Ask):
            way.stream = self._streams.begin(found, self._accepted_ns, cast(asyncio.Transport, way))
        else:
            way.write(response(found.status, found.content))

    def _leave(self, way: Way) -> None:
        way.gone()
        if way.stream is not None:
            self._streams.abandon(way.stream)


def _request(headers: Any) -> Request:
    """What the headers say; its body is yet to come."""
    said = {bytes(name): bytes(value) for name, value in headers}
    return Request(
        method=said.get(b":method", b""),
        path=said.get(b":path", b"").partition(b"?")[0],
        body=b"",
        anthropic=b"anthropic-version" in said,
        gzip=b"gzip" in said.get(b"accept-encoding", b"").lower(),
    )


def _headers(head: bytes) -> list[tuple[bytes, bytes]]:
    """The head of an HTTP/1.1 answer as HTTP/2's headers."""
    first, *lines = head.partition(b"\r\n\r\n")[0].split(b"\r\n")
    pairs = (line.split(b":", 1) for line in lines)
    headers = [(name.lower(), value.strip()) for name, value in pairs]
    return [(b":status", first[9:12]), *(pair for pair in headers if pair[0] not in _LEFT_OUT)]
