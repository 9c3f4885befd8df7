"""An incremental decoder of event streams (WHATWG HTML, "Server-sent events"): bytes in, data out.

It works on bytes and hands out whole payloads, so a character cut between two reads is never seen
in halves: the line and event borders are ASCII, and UTF-8 has no ASCII byte inside a character.
"""

import re

MAX_EVENT_BYTES = 1 << 20
"""One event's longest data; more is an EventTooLong, so that a broken peer cannot fill memory."""

_END_OF_LINE = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class EventTooLong(ValueError):
    """An event or a line grew past MAX_EVENT_BYTES."""


class EventDecoder:
    """Feed it the body as it comes; it returns the data of each event that became complete.

    Several `data` lines are joined with LF; one leading space is removed; comments and other fields
    are read over. An event without data is no event. What is incomplete at the end is `pending`.
    """

    __slots__ = ("_after_cr", "_data", "_data_bytes", "_partial", "_partial_bytes", "_started")

    def __init__(self) -> None:
        self._partial: list[bytes] = []  # pieces of a line whose end has not come
        self._partial_bytes = 0
        self._data: list[bytes] | None = None  # data lines of an event whose end has not come
        self._data_bytes = 0
        self._after_cr = False  # the last byte was CR: an LF that follows belongs to it
        self._started = False  # a byte order mark can no longer come

    @property
    def pending(self) -> bool:
        """Whether an event has begun and not ended."""
        return bool(self._partial) or self._data is not None

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of every event completed by `chunk`, in order. Raises EventTooLong."""
        if (
            self._started
            and not self._partial
            and self._data is None
            and not self._after_cr
            and chunk[-2:] == b"\n\n"
            and chunk[:6] == b"data: "
        ):
            # The usual case, kept short because it runs once a token: whole events of one line each.
            if b"\n" not in (event := chunk[6:-2]) and b"\r" not in event:
                return [event]
            if b"\r" not in chunk:
                events = chunk[:-2].split(b"\n\n")
                if all(event[:6] == b"data: " and b"\n" not in event for event in events):
                    return [event[6:] for event in events]
        return self._by_line(chunk)

    def _by_line(self, chunk: bytes) -> list[bytes]:
        if not chunk:
            return []
        if self._after_cr:
            self._after_cr = False
            if chunk[:1] == b"\n":
                chunk = chunk[1:]
        if not self._started:
            head = b"".join((*self._partial, chunk[:3]))[:3]
            if len(head) < 3 and _BOM.startswith(head):
                self._keep(chunk)
                return []
            self._started = True
            if head == _BOM:
                chunk = b"".join((*self._partial, chunk))[3:]
                self._partial.clear()
                self._partial_bytes = 0
        events: list[bytes] = []
        at = 0
        for end in _END_OF_LINE.finditer(chunk):
            line = chunk[at : end.start()]
            if self._partial:
                line = b"".join((*self._partial, line))
                self._partial.clear()
                self._partial_bytes = 0
            self._line(line, events)
            at = end.end()
        if at < len(chunk):
            self._keep(chunk[at:])
        else:
            self._after_cr = chunk[-1:] == b"\r"
        return events

    def _keep(self, piece: bytes) -> None:
        self._partial.append(piece)
        self._partial_bytes += len(piece)
        if self._partial_bytes > MAX_EVENT_BYTES:
            raise EventTooLong(f"a line of more than {MAX_EVENT_BYTES} bytes")

    def _line(self, line: bytes, events: list[bytes]) -> None:
        if not line:
            if self._data is not None:
                events.append(b"\n".join(self._data))
                self._data = None
            return
        name, _, value = line.partition(b":")
        if name != b"data":
            return  # a comment (no name), `event`, `id`, `retry`, or a field nobody knows
        if self._data is None:
            self._data = []
            self._data_bytes = 0
        self._data.append(value[1:] if value[:1] == b" " else value)
        self._data_bytes += len(value)
        if self._data_bytes > MAX_EVENT_BYTES:
            raise EventTooLong(f"an event of more than {MAX_EVENT_BYTES} bytes")
