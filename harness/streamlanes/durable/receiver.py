"""The other end of an effect: a small server with a ledger of its own, for trying senders on.

  POST /naive     does what it is told, every time
  POST /guarded   remembers the answer of each Idempotency-Key and gives it again, doing nothing
  GET  /done?ref= whether an effect was done: 200 with its answer, or 404
  GET  /naive/ledger, /guarded/ledger   {ref: times}: how often each effect happened there

A body is JSON with a `ref`, which names what is meant to happen: the ledger counts by it, and nothing
de-duplicates by it. With `fails_first` the first request for a ref is carried out and its connection
then reset: done, and the answer lost.
"""

import json
import socket
import struct
import threading
from collections import Counter
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

MAX_BODY_BYTES = 65_536
MAX_CONNECTIONS = 256
MAX_ENTRIES = 1_000_000
QUIET_S = 30.0
"""A connection that says nothing for so long is closed."""
ENDPOINTS = ("naive", "guarded")


class Receiver:
    """Serves on a free port of this machine until closed. Every figure is exact: one lock for all."""

    def __init__(self, fails_first: bool = False) -> None:
        self._fails_first = fails_first
        self._ledger: dict[str, Counter[str]] = {name: Counter() for name in ENDPOINTS}
        self._answers: dict[str, str] = {}
        self._failed: set[tuple[str, str]] = set()
        self._entries = 0
        self._lock = threading.Lock()
        self._server = _Server(self)
        host, port = self._server.server_address[:2]
        self.url = f"http://{host!s}:{port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def ledger(self, endpoint: str) -> Counter[str]:
        """How often each effect happened at an endpoint, by ref."""
        with self._lock:
            return self._ledger[endpoint].copy()

    def close(self) -> None:
        """Stop serving; the ledger stays."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def carry_out(self, endpoint: str, ref: str, key: str | None) -> tuple[str | None, bool]:
        """Do what is asked; returns the answer (None where the ledger is full) and whether to lose it."""
        with self._lock:
            known = self._answers.get(key) if endpoint == "guarded" and key is not None else None
            if known is not None:
                return known, False
            if self._entries == MAX_ENTRIES:
                return None, False
            self._entries += 1
            self._ledger[endpoint][ref] += 1
            answer = f"{ref} #{self._entries}"
            if endpoint == "guarded" and key is not None:
                self._answers[key] = answer
            lose = self._fails_first and (endpoint, ref) not in self._failed
            self._failed.add((endpoint, ref))
            return answer, lose

    def done(self, ref: str) -> bool:
        """Whether an effect happened at any endpoint."""
        with self._lock:
            return any(counts[ref] > 0 for counts in self._ledger.values())


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._free.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that went away is its own affair."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "receiver"
    timeout = QUIET_S
    wbufsize = -1  # head and body in one write
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        endpoint = self.path.strip("/")
        ref = None
        refused = self._refusal(endpoint, self.headers.get("content-length", ""))
        if refused is None:
            ref = _ref(self.rfile.read(int(self.headers["content-length"])))
        if ref is None:
            return self._refuse(refused or HTTPStatus.BAD_REQUEST)
        answer, lose = self.server.receiver.carry_out(endpoint, ref, self.headers.get("idempotency-key"))
        if lose:
            return self._reset()
        if answer is None:
            return self._refuse(HTTPStatus.INSUFFICIENT_STORAGE)
        return self._say(HTTPStatus.OK, json.dumps({"answer": answer}))

    def do_GET(self) -> None:
        at = urlsplit(self.path)
        endpoint, _, what = at.path.strip("/").partition("/")
        if endpoint in ENDPOINTS and what == "ledger":
            return self._say(HTTPStatus.OK, json.dumps(self.server.receiver.ledger(endpoint)))
        if at.path == "/done":
            (ref,) = parse_qs(at.query).get("ref", [""])[:1]
            if self.server.receiver.done(ref):
                return self._say(HTTPStatus.OK, json.dumps({"answer": ref}))
        return self._say(HTTPStatus.NOT_FOUND, "{}")

    @staticmethod
    def _refusal(endpoint: str, size: str) -> HTTPStatus | None:
        """Why a request is not even read."""
        if endpoint not in ENDPOINTS:
            return HTTPStatus.NOT_FOUND
        if not size.isdecimal() or len(size) > 9:
            return HTTPStatus.LENGTH_REQUIRED
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if int(size) > MAX_BODY_BYTES else None

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer and close: the rest of what was sent is not read."""
        self.close_connection = True
        self._say(status, json.dumps({"error": status.phrase}))

    def _say(self, status: HTTPStatus, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _reset(self) -> None:
        """End the connection so that the other side sees an error and not an end."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def log_message(self, format: str, *args: Any) -> None:  # the name is the base class'
        """Nothing: the ledger is the log."""


def _ref(body: bytes) -> str | None:
    """The `ref` of a body; None where it has none."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    ref = said.get("ref") if isinstance(said, dict) else None
    return ref if isinstance(ref, str) and 0 < len(ref) <= 500 else None
