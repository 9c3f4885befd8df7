"""A server that answers as a test wrote it, ways in which a provider breaks included, over real sockets."""

import contextlib
import enum
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Sequence


class Do(enum.Enum):
    """What a script may do beside sending bytes."""

    CLOSE = "end the connection"
    RESET = "break it off (RST)"
    STALL = "send nothing more, and wait until the caller leaves"


Script = Sequence[bytes | Do | Callable[[], bool]]
"""What is sent and done in turn. A function: nothing more is sent until it says so."""

EVENT_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def refusal(status: int) -> bytes:
    body = b'{"error":{"message":"no","type":"none"}}'
    head = b"HTTP/1.1 %d No\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


def within(come: Callable[[], bool]) -> bool:
    """Wait until it has come to that; whether it has."""
    until = time.monotonic() + 20
    while not come() and time.monotonic() < until:
        time.sleep(0.002)
    return come()


class Scripted:
    """Answers every request with `script`. `open`: connections that stand now; `made`: all so far."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._tls = tls
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self.address: tuple[str, int] = self._listener.getsockname()
        self.open = self.made = self.requests = 0
        self._start(self._accept)

    def __enter__(self) -> "Scripted":
        return self

    def __exit__(self, *args: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    def settle(self, open_connections: int) -> bool:
        """Wait until so many connections stand; whether it came to that."""
        return within(lambda: self.open == open_connections)

    def _start(self, run, *args) -> None:
        thread = threading.Thread(target=run, args=args)
        self._threads.append(thread)
        thread.start()

    def _count(self, change: int) -> None:
        with self._lock:
            self.open += change
            self.made += max(change, 0)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._count(1)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            while _request(connection):
                self.requests += 1
                if not self._play(connection):
                    return
        except OSError:
            return  # the caller left
        finally:
            connection.close()
            self._count(-1)

    def _play(self, connection: socket.socket) -> bool:
        """Whether the connection may be used again."""
        for step in self._script:
            if isinstance(step, bytes):
                connection.sendall(step)
            elif not isinstance(step, Do):
                assert within(step), "the caller never came to it"
            elif step is Do.STALL:
                connection.settimeout(30)
                assert connection.recv(1) == b"", "nothing is sent after a request"
                return False
            else:
                if step is Do.RESET:
                    time.sleep(0.05)  # what was sent is read first: a reset throws unread bytes away
                    now = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
                return False
        return True


def _request(connection: socket.socket) -> bool:
    """Read one request; False when the caller has closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return False
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    (line,) = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    length = int(line.partition(b":")[2])
    while len(body) < length:
        body += connection.recv(65536)
    return True
