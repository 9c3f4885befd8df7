"""One connection of the provider: parses requests within bounds, starts streams, answers the rest itself."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import cast

import httptools

from streamlanes.provider.ask import Ask
from streamlanes.provider.deadlines import Deadlines
from streamlanes.provider.routes import Answer, Request, refusal, route
from streamlanes.provider.streams import Stream, Streams
from streamlanes.provider.writes import response

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 1 << 20
MAX_MESSAGE_BYTES = MAX_BODY_BYTES + 2 * MAX_HEAD_BYTES
"""Head, body and trailers, framing included."""
MAX_UNREAD_BYTES = 1 << 20
"""Answers that a caller has not read; more and the connection ends."""


_HTTP2_BEGINS = b"PRI * HTTP/2.0\r\n"

Newer = Callable[[Streams, asyncio.Transport, int, Deadlines, Callable[[], None]], asyncio.Protocol]
"""What takes over where a caller speaks HTTP/2: streams, transport, when it was accepted, deadlines, and what
to call when the connection is gone."""


class Connection(asyncio.Protocol):
    """A protocol per connection and no task per stream."""

    def __init__(
        self,
        streams: Streams,
        connections: "set[Connection]",
        deadlines: Deadlines,
        http2: "Newer | None" = None,
    ) -> None:
        self._streams = streams
        self._http2 = http2
        self._connections = connections
        self._deadlines = deadlines
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._accepted_ns = 0
        self._stream: Stream | None = None
        self._keep = True  # whether the caller wants the connection for more
        self._begin_request()

    def _begin_request(self) -> None:
        self._owing = False
        self._url = b""
        self._anthropic = self._gzip = self._head_over = False
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._head_bytes = 0
        self._message_bytes = 0

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass of it
        self._accepted_ns = time.perf_counter_ns()
        self._transport = transport
        self._connections.add(self)
        self._owe()

    def data_received(self, data: bytes) -> None:
        if self._message_bytes == 0 and self._http2 is not None and data.startswith(_HTTP2_BEGINS):
            self._hand_over(data, self._http2)
            return
        if not self._owing:
            self._owe()
        self._message_bytes += len(data)
        if self._message_bytes > MAX_MESSAGE_BYTES:
            self._refuse(413, "request too large")
            return
        if self._transport is not None and self._transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            self._transport.abort()  # it asks and asks, and reads nothing
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(400, "no upgrades here")
        except httptools.HttpParserError as error:
            self._refuse(400, f"bad request: {error}")
        if self._head_bytes > MAX_HEAD_BYTES or (
            not self._head_over and self._message_bytes > MAX_HEAD_BYTES
        ):
            self._refuse(431, "request head larger than 64 KiB")

    def _hand_over(self, data: bytes, http2: "Newer") -> None:
        """The caller speaks HTTP/2: another protocol takes the connection from its first byte on."""
        transport = self._transport
        assert transport is not None
        self._deadlines.paid(self)
        lost = partial(self.connection_lost, None)
        other = http2(self._streams, transport, self._accepted_ns, self._deadlines, lost)
        transport.set_protocol(other)
        other.data_received(data)

    def eof_received(self) -> bool:
        self._leave()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        self._deadlines.paid(self)
        self._connections.discard(self)
        self._transport = None

    def _owe(self) -> None:
        self._owing = True
        self._deadlines.begin(self)

    def too_late(self) -> None:
        """The caller has not sent a whole request in time."""
        if self._stream is None or self._stream.over:  # else what it sends may wait for its stream
            self._refuse(408, "the request did not come in time")

    def _leave(self) -> None:
        if self._stream is not None:
            self._streams.abandon(self._stream)
            self._stream = None

    def abort(self) -> None:
        """Close this connection now: over TLS an orderly end would wait for the caller's half of it."""
        if self._transport is not None:
            self._transport.abort()

    # httptools' side

    def on_url(self, url: bytes) -> None:
        self._head_bytes += len(url)
        if self._head_bytes <= MAX_HEAD_BYTES:
            self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        name = name.lower()
        if name == b"accept-encoding":
            self._gzip = b"gzip" in value.lower()
        elif name == b"anthropic-version":
            self._anthropic = True
        elif name == b"expect" and value.lower() == b"100-continue":
            self._go_on()

    def _go_on(self) -> None:
        if self._stream is not None and not self._stream.over:
            return  # nothing is written into the middle of a stream
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_headers_complete(self) -> None:
        self._head_over = True

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes <= MAX_BODY_BYTES:
            self._body.append(body)

    def on_message_complete(self) -> None:
        request = Request(
            method=self._parser.get_method(),
            path=self._url.partition(b"?")[0],
            body=b"".join(self._body),
            anthropic=self._anthropic,
            gzip=self._gzip,
        )
        head_bytes, body_bytes = self._head_bytes, self._body_bytes
        self._begin_request()
        self._deadlines.paid(self)
        if self._stream is not None and not self._stream.over:
            # A second request on this connection has to wait in HTTP/1.1; an answer now would stand in
            # the middle of the stream. Nobody pipelines LLM calls: the connection ends.
            self._leave()
            if self._transport is not None:
                self._transport.close()
            return
        if self._transport is None or self._transport.is_closing():
            return
        self._keep = self._parser.should_keep_alive()
        if head_bytes > MAX_HEAD_BYTES:
            self._refuse(431, "request head larger than 64 KiB")
        elif body_bytes > MAX_BODY_BYTES:
            self._answer(refusal(request, 413, "body larger than 1 MiB"), close=True)
        else:
            found = route(request, self._streams)
            if isinstance(found, Ask):
                self._stream = self._streams.begin(found, self._accepted_ns, self._transport, self._keep)
            else:
                self._answer(found)

    def _refuse(self, status: int, message: str) -> None:
        """An answer to what is no request; the connection ends."""
        self._leave()  # nothing of a stream may come behind the answer
        request = Request(method=b"", path=b"", body=b"", anthropic=self._anthropic)
        self._answer(refusal(request, status, message), close=True)

    def _answer(self, answer: Answer, *, close: bool = False) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        close = close or not self._keep
        data = response(answer.status, answer.content, close=close)
        if self._parser.get_method() == b"HEAD":
            data = data[: data.index(b"\r\n\r\n") + 4]
        self._transport.write(data)
        if close:
            self._transport.close()
