"""From events to writes: HTTP around the pieces of an event stream, and what follows each. Pure."""

import enum
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from streamlanes.provider.frames import END, HEAD, chunk, stream_head

_REASONS = {
    400: "Bad Request",
    404: "Not Found",
    408: "Request Timeout",
    413: "Content Too Large",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
    529: "Overloaded",
}


class Then(enum.Enum):
    """What follows a write."""

    MORE = enum.auto()
    END = enum.auto()  # the message is over; the connection may stay
    CLOSE = enum.auto()
    RESET = enum.auto()


@dataclass(frozen=True, slots=True)
class Write:
    """One write. tokens: how many it completes."""

    due_ns: int
    data: bytes
    tokens: int = 0
    then: Then = Then.MORE


@dataclass(frozen=True, slots=True)
class Event:
    """Bytes of an event stream that are sent together: an event, a part of one, a comment."""

    due_ns: int
    body: bytes
    tokens: int = 0


def response(status: int, content: object, *headers: str, close: bool = False) -> bytes:
    """A whole response with a JSON body."""
    body = json.dumps(content).encode()
    lines = (
        f"HTTP/1.1 {status} {_REASONS.get(status, 'OK')}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *headers,
        *(("Connection: close",) if close else ()),
    )
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + body


class Gzip:
    """Compresses each piece so that the caller can read it at once. The smallest window: a server holds
    thousands of these."""

    def __init__(self) -> None:
        self._zlib = zlib.compressobj(wbits=16 + 9, memLevel=1)

    def piece(self, body: bytes) -> bytes:
        return self._zlib.compress(body) + self._zlib.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._zlib.flush()


def writes(events: Iterable[Event], gzip: Gzip | None, then: Then, *, apart: bool) -> Iterator[Write]:
    """Head and events, each event in an HTTP chunk of its own; `then` with the last write."""
    lead = stream_head("Content-Encoding: gzip") if gzip else HEAD
    made: Write | None = None
    for together in _one_by_one(events) if apart else _due_together(events):
        if made is not None:
            yield made
        data, tokens = [lead], 0
        for event in together:
            body = gzip.piece(event.body) if gzip else event.body
            data.append(chunk(body) if body else b"")
            tokens += event.tokens
        made, lead = Write(together[0].due_ns, b"".join(data), tokens), b""
    assert made is not None, "no answer is without an event"
    rest = chunk(gzip.end()) if gzip else b""
    yield replace(made, data=made.data + rest + (END if then is Then.END else b""), then=then)


def _one_by_one(events: Iterable[Event]) -> Iterator[list[Event]]:
    return ([event] for event in events)


def _due_together(events: Iterable[Event]) -> Iterator[list[Event]]:
    return (list(group) for _, group in groupby(events, lambda event: event.due_ns))
