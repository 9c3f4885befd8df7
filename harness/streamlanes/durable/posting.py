"""Calling a receiver: requests over connections that are kept and used again."""

import collections
import http.client
import json
import socket
import threading
from collections.abc import Mapping
from typing import Self
from urllib.parse import urlsplit

from streamlanes.durable.effects import NotDone

TIMEOUT_S = 30.0
MAX_ANSWER_BYTES = 1_000_000


class Refused(Exception):
    """The receiver answered with an error status."""


class Caller:
    """Calls receivers, from any thread. Each connection is one thread's while a request is on it.

    A connection that was kept may have been closed by the other side since: then nobody knows whether
    the request was carried out, and whoever sent it with a key sends it again.
    """

    def __init__(self) -> None:
        self._idle: dict[tuple[str, str], list[http.client.HTTPConnection]] = collections.defaultdict(list)
        self._lock = threading.Lock()

    def post(self, url: str, body: object, key: str | None = None) -> str:
        """POST a JSON body; returns the answer's text.

        key: sent as Idempotency-Key. Raises NotDone where the request certainly had no effect (nobody
        listens, or 429), Refused for another error status, OSError or HTTPException where nobody knows.
        """
        headers = {"content-type": "application/json"} | ({"idempotency-key": key} if key else {})
        status, text = self._request("POST", url, json.dumps(body).encode(), headers)
        if status == http.client.TOO_MANY_REQUESTS:
            raise NotDone(f"{url} answered {status}")
        if status >= http.client.BAD_REQUEST:
            raise Refused(f"{url} answered {status}")
        return text

    def get(self, url: str, most_bytes: int = MAX_ANSWER_BYTES) -> str | None:
        """GET; None for 404. Raises as `post`."""
        status, text = self._request("GET", url, None, {}, most_bytes)
        if status == http.client.NOT_FOUND:
            return None
        if status >= http.client.BAD_REQUEST:
            raise Refused(f"{url} answered {status}")
        return text

    def close(self) -> None:
        """Close what is kept."""
        with self._lock:
            for connections in self._idle.values():
                while connections:
                    connections.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        most_bytes: int = MAX_ANSWER_BYTES,
    ) -> tuple[int, str]:
        at = urlsplit(url)
        path = (at.path or "/") + (f"?{at.query}" if at.query else "")
        connection = self._connection(at.scheme, at.netloc)
        kept = False
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            text = response.read(most_bytes).decode(errors="replace")
            if not response.isclosed():
                raise http.client.HTTPException(f"{url} answers more than {most_bytes:,} bytes")
            kept = connection.sock is not None
        finally:
            if kept:
                with self._lock:
                    self._idle[at.scheme, at.netloc].append(connection)
            else:
                connection.close()
        return response.status, text

    def _connection(self, scheme: str, netloc: str) -> http.client.HTTPConnection:
        """One that is kept, or a new one."""
        with self._lock:
            if self._idle[scheme, netloc]:
                return self._idle[scheme, netloc].pop()
        kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
        connection = kind(netloc, timeout=TIMEOUT_S)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise NotDone(f"{netloc} cannot be reached: {error}") from None
        assert connection.sock is not None
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection
