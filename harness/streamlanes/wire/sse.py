"""An incremental decoder of event streams (WHATWG HTML, "Server-sent events"): bytes in, events out.

It works on bytes and hands out whole payloads, so a character cut between two reads is never seen
in halves: the line and event borders are ASCII, and UTF-8 has no ASCII byte inside a character.

Three ways lead through it, and all give the same events. Whole events of the usual shape are found
with a few searches over the bytes: one event a read (`feed`) or many (`_whole`). What has begun
before a read, or goes on behind it, is taken line by line up to the next border (`_cut`). All else
is taken line by line, as the standard describes it.
"""

from typing import Generic, TypeVar

MAX_EVENT_BYTES = 1 << 20
"""One event's longest lines together; more is an EventTooLong, so that a broken peer cannot fill memory."""

MAX_RETRY_DIGITS = 15
"""A longer wait than this is no wait in milliseconds, and is read over."""

NamedEvent = tuple[bytes, bytes]
"""An event's name, b"" where it has none, and its data."""

T = TypeVar("T")

_BOM = b"\xef\xbb\xbf"


class EventTooLong(ValueError):
    """An event, or one line, grew past MAX_EVENT_BYTES."""


def _too_long() -> EventTooLong:
    return EventTooLong(f"an event or a line of more than {MAX_EVENT_BYTES} bytes")


def _longer(text: bytes | bytearray, piece: bytes) -> bytearray:
    """The text and the piece, in a buffer that grows: joining anew would take time by its square."""
    buffer = text if isinstance(text, bytearray) else bytearray(text)
    buffer += piece
    return buffer


class _Decoder(Generic[T]):
    """What all decoders do alike; what is handed out of an event, T, is the subclass's matter.

    Several `data` lines are joined with LF; one leading space is removed; comments and unknown fields
    are read over. An event without data is no event. last_id: the last event's `id`, kept until
    another one comes. retry_ms: how long the peer asks to wait before connecting again, or None.
    Never held: more than MAX_EVENT_BYTES of an event, and the last id.
    """

    __slots__ = (
        "_after_cr", "_clean", "_data", "_id", "_kept", "_name", "_partial", "_started", "last_id", "retry_ms"
    )  # fmt: skip

    def __init__(self) -> None:
        self.last_id = b""
        self.retry_ms: int | None = None
        self._started = False  # a byte order mark can no longer come
        self._clean = False  # started, and between two events: nothing below is set
        self._after_cr = False  # the last byte was CR: an LF that follows belongs to it
        # One piece is kept as it is, which is usual; only from the second one on does a buffer grow.
        self._partial: bytes | bytearray = b""  # a line whose end has not come
        self._data: bytes | bytearray | None = None  # of an event whose end has not come
        self._kept = 0  # bytes of that event's lines, comments left out
        self._name = b""
        self._id = b""

    @property
    def pending(self) -> bool:
        """Whether an event has begun and not ended."""
        return bool(self._partial) or self._data is not None

    def feed(self, chunk: bytes) -> list[T]:
        """Every event completed by `chunk`, in order. Raises EventTooLong; nothing may be fed after it."""
        raise NotImplementedError

    def _event(self, name: bytes, data: bytes) -> T:
        """What is handed out of an event."""
        raise NotImplementedError

    def _usual(self, text: bytes) -> list[T] | None:
        """The events of `text`, which begins and ends at a border and has no CR, if all have the usual
        shape; else None."""
        raise NotImplementedError

    def _cut(self, chunk: bytes) -> list[T]:
        """Any piece of a stream: what has begun before it, whole events, what goes on behind it."""
        events: list[T] = []
        if not self._clean:
            border = chunk.find(b"\n\n") + 2
            if border < 2:
                self._by_line(chunk, events)
                return events
            self._by_line(chunk[:border], events)
            chunk = chunk[border:]
        border = chunk.rfind(b"\n\n") + 2
        if border >= 2:
            self._whole(chunk[:border], events)
            chunk = chunk[border:]
        self._by_line(chunk, events)
        return events

    def _whole(self, text: bytes, events: list[T]) -> None:
        found = self._usual(text) if b"\r" not in text and len(text) <= MAX_EVENT_BYTES else None
        if found is None:
            self._by_line(text, events)
        else:
            events += found

    def _by_line(self, chunk: bytes, events: list[T]) -> None:
        if not self._started:
            chunk = self._begun(chunk)
        if not chunk:
            return
        if self._after_cr:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        lines = chunk.splitlines()  # of bytes, at CR, LF and CRLF and nothing else
        rest = lines.pop() if lines and chunk[-1:] not in (b"\n", b"\r") else b""
        if lines and self._partial:
            lines[0] = b"".join((self._partial, lines[0]))
            self._partial = b""
        for line in lines:
            self._line(line, events)
        if rest:
            self._keep(rest)
        self._after_cr = chunk[-1:] == b"\r"
        self._clean = not (self._after_cr or self._partial or self._kept)

    def _begun(self, chunk: bytes) -> bytes:
        """The stream's first bytes without a byte order mark; nothing while one may still come."""
        chunk = bytes(self._partial) + chunk
        self._partial = b""
        if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
            self._partial = chunk
            return b""
        self._started = True
        return chunk.removeprefix(_BOM)

    def _keep(self, piece: bytes) -> None:
        """The beginning of a line, or more of it."""
        if self._kept + len(self._partial) + len(piece) > MAX_EVENT_BYTES:
            raise _too_long()
        self._partial = _longer(self._partial, piece) if self._partial else piece

    def _line(self, line: bytes, events: list[T]) -> None:
        if not line:
            self._dispatch(events)
            return
        if self._kept + len(line) > MAX_EVENT_BYTES:
            raise _too_long()
        name, _, value = line.partition(b":")
        if not name:
            return  # a comment
        self._kept += len(line) + 1
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data = value if self._data is None else _longer(self._data, b"\n" + value)
        elif name == b"event":
            self._name = value
        elif name == b"id":
            if b"\0" not in value:
                self._id = value
        elif name == b"retry" and value.isdigit() and len(value) <= MAX_RETRY_DIGITS:
            self.retry_ms = int(value)

    def _dispatch(self, events: list[T]) -> None:
        """An empty line: the event is over."""
        self.last_id = self._id
        if self._data is not None:
            events.append(self._event(self._name, bytes(self._data)))
            self._data = None
        self._name = b""
        self._kept = 0


class EventDecoder(_Decoder[bytes]):
    """Feed it the body as it comes; it returns the data of each event that became complete."""

    __slots__ = ()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of every event completed by `chunk`, in order. Raises EventTooLong; nothing may be fed
        after it."""
        if self._clean and chunk[-2:] == b"\n\n" and chunk[:6] == b"data: " and len(chunk) <= MAX_EVENT_BYTES:
            # The usual case, kept short because it runs once a token: one event of one line.
            data = chunk[6:-2]
            if b"\n" not in data and b"\r" not in data:
                return [data]
        return self._cut(chunk)

    def _event(self, name: bytes, data: bytes) -> bytes:
        return data

    def _usual(self, text: bytes) -> list[bytes] | None:
        """Events of one `data` line each: between two of them stands the same text, and no other LF."""
        if text[:6] != b"data: ":
            return None
        found = text[6:-2].split(b"\n\ndata: ")
        return found if text.count(b"\n") == 2 * len(found) else None


class NamedEventDecoder(_Decoder[NamedEvent]):
    """The same for a dialect whose events have names: it returns name and data."""

    __slots__ = ()

    def feed(self, chunk: bytes) -> list[NamedEvent]:
        """Name and data of every event completed by `chunk`, in order. Raises EventTooLong; nothing may be
        fed after it."""
        if (
            self._clean
            and chunk[-2:] == b"\n\n"
            and chunk[:7] == b"event: "
            and len(chunk) <= MAX_EVENT_BYTES
            and chunk.count(b"\n") == 3
            and b"\r" not in chunk
        ):
            name, data_line, data = chunk[7:-2].partition(b"\ndata: ")
            if data_line:
                return [(name, data)]
        return self._cut(chunk)

    def _event(self, name: bytes, data: bytes) -> NamedEvent:
        return name, data

    def _usual(self, text: bytes) -> list[NamedEvent] | None:
        """Events of an `event` and a `data` line each: three LF to an event, one of them within it."""
        if text[:7] != b"event: ":
            return None
        found = [event.partition(b"\ndata: ") for event in text[7:-2].split(b"\n\nevent: ")]
        if text.count(b"\n") != 3 * len(found) or not all(data_line for _, data_line, _ in found):
            return None
        return [(name, data) for name, _, data in found]
