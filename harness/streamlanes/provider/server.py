"""The simulated provider: an OpenAI-style HTTP server, a protocol per connection, no task per stream."""

import asyncio
import json
import re
import socket
import ssl
import time
from collections.abc import Sequence
from typing import cast

import httptools

from streamlanes.provider.streams import Stream, Streams
from streamlanes.provider.tls import HANDSHAKE_S, SHUTDOWN_S

MAX_BODY_BYTES = 1 << 20
MAX_MESSAGE_BYTES = MAX_BODY_BYTES + 64 * 1024
MAX_UNREAD_BYTES = 1 << 20
"""Answers that a caller has not read; more and the connection ends."""

_CALL = re.compile(r"\[call ([0-9]{1,9})\]")


def call_index(body: bytes) -> int | None:
    """The index in a prompt that begins `[call 123]`; None without one. Raises ValueError for a body
    that is no chat request."""
    request = json.loads(body)
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        raise ValueError("a chat request is an object with a list of messages")
    if not request["messages"]:
        raise ValueError("a chat request has one message at the least")
    for message in request["messages"]:
        if isinstance(message, dict) and (found := _CALL.match(_text(message.get("content")))):
            return int(found[1])
    return None


def _text(content: object) -> str:
    """A message's text: a string, or a list of parts of which some are text."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


class Connection(asyncio.Protocol):
    """One connection: parses requests, hands streams to `Streams`, answers the rest itself."""

    def __init__(self, streams: Streams, connections: "set[Connection]") -> None:
        self._streams = streams
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._accepted_ns = 0
        self._stream: Stream | None = None
        self._keep = True  # whether the caller wants the connection for more
        self._begin_request()

    def _begin_request(self) -> None:
        self._url = b""
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._message_bytes = 0  # head, body and trailers, framing included

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass of it
        self._accepted_ns = time.perf_counter_ns()
        self._transport = transport
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._message_bytes += len(data)
        if self._message_bytes > MAX_MESSAGE_BYTES:
            self._answer(413, {"error": {"message": "request too large"}}, close=True)
            return
        if self._transport is not None and self._transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            self._transport.abort()  # it asks and asks, and reads nothing
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._answer(400, {"error": {"message": "no upgrades here"}}, close=True)
        except httptools.HttpParserError as error:
            self._answer(400, {"error": {"message": f"bad request: {error}"}}, close=True)

    def eof_received(self) -> bool:
        self._leave()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        self._connections.discard(self)
        self._transport = None

    def _leave(self) -> None:
        if self._stream is not None:
            self._streams.abandon(self._stream)
            self._stream = None

    def drop(self) -> None:
        """Close this connection."""
        if self._transport is not None:
            self._transport.close()

    # httptools' side

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"expect" and value.lower() == b"100-continue" and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes <= MAX_BODY_BYTES:
            self._body.append(body)

    def on_message_complete(self) -> None:
        url, body, size = self._url, b"".join(self._body), self._body_bytes
        method = self._parser.get_method()
        self._begin_request()
        path = url.partition(b"?")[0]
        if self._stream is not None and not self._stream.over:
            # A second request on this connection has to wait in HTTP/1.1; an answer now would stand in
            # the middle of the stream. Nobody pipelines LLM calls: the connection ends.
            self._leave()
            self.drop()
            return
        self._keep = self._parser.should_keep_alive()
        if size > MAX_BODY_BYTES:
            self._answer(413, {"error": {"message": "body larger than 1 MiB"}}, close=True)
        elif method == b"POST" and path == b"/v1/chat/completions":
            self._chat(body)
        elif method == b"GET" and path == b"/sim/stats":
            self._answer(200, stats(self._streams))
        elif method == b"POST" and path == b"/sim/release":
            self._answer(200, {"released": self._streams.release()})
        else:
            self._answer(404, {"error": {"message": "not found"}})

    def _chat(self, body: bytes) -> None:
        try:
            call = call_index(body)
        except (ValueError, RecursionError) as error:
            self._answer(
                400, {"error": {"message": f"bad request: {error}", "type": "invalid_request_error"}}
            )
            return
        if self._transport is not None and not self._transport.is_closing():
            self._stream = self._streams.begin(call, self._accepted_ns, self._transport, self._keep)

    def _answer(self, status: int, content: dict[str, object], *, close: bool = False) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        close = close or not self._keep
        body = json.dumps(content).encode()
        reason = {200: "OK", 400: "Bad Request", 404: "Not Found", 413: "Content Too Large"}.get(
            status, "Error"
        )
        head = (
            f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        )
        end = b"Connection: close\r\n\r\n" if close else b"\r\n"
        self._transport.write(head.encode() + end + (b"" if self._parser.get_method() == b"HEAD" else body))
        if close:
            self._transport.close()


def stats(streams: Streams) -> dict[str, object]:
    """What `/sim/stats` answers: counts, this process' CPU seconds, its own lateness in ms."""
    counts = streams.counts
    return {
        "requests": counts.requests,
        "in_flight": counts.in_flight,
        "peak_in_flight": counts.peak_in_flight,
        "tokens": counts.tokens,
        "abandoned": counts.abandoned,
        "cpu_s": time.process_time(),
        "lateness_ms": streams.lateness_ms(),
    }


def listen(host: str, ports: Sequence[int]) -> list[socket.socket]:
    """Listening sockets, each with as long a backlog as the system allows (capped by somaxconn).

    A port of 0 lets the system choose. Raises OSError for a port that is taken.
    """
    sockets: list[socket.socket] = []
    try:
        for port in ports:
            sockets.append(socket.create_server((host, port), backlog=65535))
    except BaseException:
        for opened in sockets:
            opened.close()
        raise
    return sockets


async def serve(
    streams: Streams,
    stop: "asyncio.Future[None]",
    plain: Sequence[socket.socket],
    secure: Sequence[socket.socket] = (),
    context: ssl.SSLContext | None = None,
) -> None:
    """Answer on these sockets until `stop` is done, then close every connection.

    secure: sockets that speak TLS, under `context`.
    """
    loop = asyncio.get_running_loop()
    connections: set[Connection] = set()

    def connection() -> Connection:
        return Connection(streams, connections)

    servers = [await loop.create_server(connection, sock=each, backlog=65535) for each in plain]
    servers += [
        await loop.create_server(
            connection,
            sock=each,
            backlog=65535,
            ssl=context,
            ssl_handshake_timeout=HANDSHAKE_S,
            ssl_shutdown_timeout=SHUTDOWN_S,
        )
        for each in secure
    ]
    try:
        await stop
    finally:
        for server in servers:
            server.close()
        for connection in list(connections):
            connection.drop()
        streams.close()
