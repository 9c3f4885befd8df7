"""As much HTTP/1.1 as a streaming call needs from the client's side, without I/O.

The standard library has no incremental response decoder; `streams` and `floor` share this one, so
that they differ in how bytes reach them and in nothing else.
"""

MAX_HEAD_BYTES = 64 * 1024
MAX_CHUNK_LINE_BYTES = 1024
MAX_CHUNK_BYTES = 4 << 20
MAX_LENGTH_DIGITS = 18


class HttpError(ValueError):
    """A response that is not HTTP/1.1 as this decoder knows it."""


def post(host: str, path: str, body: bytes) -> bytes:
    """The bytes of a POST with a JSON body that asks for an event stream."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Accept: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


class ResponseDecoder:
    """Feed it what the socket gave; it returns the body bytes therein.

    status: the status code, 0 until the head is there. complete: the message has ended by its own
    framing (last chunk, or content length reached).
    """

    __slots__ = ("_held", "_left", "chunked", "complete", "status")

    def __init__(self) -> None:
        self.status = 0
        self.complete = False
        self.chunked = False
        self._held = b""  # bytes of a head or a chunk line that is not whole yet
        self._left = -1  # bytes still to come, of the body or a chunk; -1: unknown, or no chunk

    def feed(self, data: bytes) -> bytes:
        """The body bytes that `data` completes. Raises HttpError."""
        if self._held:
            data = self._held + data
            self._held = b""
        if self.status == 0:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if len(data) > MAX_HEAD_BYTES:
                    raise HttpError("a response head of more than 64 KiB")
                self._held = data
                return b""
            self._head(data[:end])
            data = data[end + 4 :]
        if self.chunked:
            return self._chunks(data)
        if self._left >= 0:
            data = data[: self._left]
            self._left -= len(data)
            self.complete = self._left == 0
        return data

    def _head(self, head: bytes) -> None:
        first, *lines = head.split(b"\r\n")
        if first[:7] != b"HTTP/1." or not first[9:12].isdigit():
            raise HttpError(f"not an HTTP/1.1 status line: {first[:40]!r}")
        self.status = int(first[9:12])
        for line in lines:
            name, _, value = line.partition(b":")
            name = name.lower()
            if name == b"transfer-encoding":
                self.chunked = b"chunked" in value.lower()
            elif name == b"content-length":
                if not value.strip().isdigit() or len(value) > MAX_LENGTH_DIGITS:
                    raise HttpError(f"a content length of {value[:20]!r}")
                self._left = int(value)
        if self.chunked:
            self._left = 0  # a length beside it counts for nothing
        elif self._left == 0:
            self.complete = True

    def _chunks(self, data: bytes) -> bytes:
        """Chunk framing: hex size CRLF, that many bytes, CRLF; size 0 ends it (no trailers here).

        What has come of a chunk is handed out at once, so that a large one takes neither memory nor a
        second look.
        """
        at = 0
        body = b""
        if self._left:
            body = data[: max(0, self._left - 2)]  # the last two are the CRLF behind the chunk
            at = min(len(data), self._left)
            self._left -= at
        while at < len(data) and not self.complete:
            line = data.find(b"\r\n", at)
            if line < 0:
                if len(data) - at > MAX_CHUNK_LINE_BYTES:
                    raise HttpError("a chunk size line of more than 1 KiB")
                break
            try:
                size = int(data[at:line].split(b";", 1)[0], 16)
            except ValueError:
                raise HttpError(f"a chunk size of {data[at:line][:20]!r}") from None
            if not 0 <= size <= MAX_CHUNK_BYTES:
                raise HttpError(f"a chunk of {size} bytes")
            end = line + 2 + size
            if size == 0:
                if len(data) < end + 2:
                    break
                self.complete = True
            elif body:
                body += data[line + 2 : end]
            else:
                body = data[line + 2 : end]
            at = end + 2
        if at != len(data):
            self._go_on(data, at)
        return body

    def _go_on(self, data: bytes, at: int) -> None:
        """Remember what the next read has to begin with: the rest of a chunk that ends at `at`, beyond this
        read, or a chunk line that begins there."""
        if at > len(data):
            self._left = at - len(data)
        elif not self.complete:
            self._held = data[at:]
