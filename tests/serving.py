"""A provider in a thread, for tests that talk to it over real sockets, plain or TLS."""

import asyncio
import atexit
import json
import shutil
import socket
import ssl
import tempfile
import threading
from functools import cache
from typing import Any

import uvloop

from jobs_fakes import small_schedule, tables
from streamlanes import certificate
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.connection import Newer
from streamlanes.provider.deadlines import REQUEST_S
from streamlanes.provider.server import listen, serve
from streamlanes.provider.streams import Streams
from streamlanes.provider.tls import HANDSHAKE_S, server_context
from streamlanes.samples import Table, provider_columns
from streamlanes.wire.http1 import ResponseDecoder, post
from streamlanes.wire.openai import request_body

AROUND = 4
"""Events of a streamed answer beside its tokens: role, finish, usage, `[DONE]`."""


@cache
def made_certificate() -> certificate.Certificate:
    """One for all tests: what it holds is tested elsewhere."""
    folder = tempfile.mkdtemp(prefix="streamlanes-tests-")
    atexit.register(shutil.rmtree, folder)
    return certificate.make(folder)


class Serving:
    """A provider with a plain port and a TLS port, at `address` and `tls_address`."""

    def __init__(
        self,
        hold: bool = False,
        calls: int = 4,
        *,
        behaviour: Behaviour | None = None,
        marked_only: bool = False,
        request_s: float = REQUEST_S,
        handshake_s: float = HANDSHAKE_S,
        http2: Newer | None = None,
        **axes: object,
    ) -> None:
        self._http2 = http2
        self._behaviour = behaviour or Behaviour()
        self._marked_only = marked_only
        self._request_s, self._handshake_s = request_s, handshake_s
        self.plan = small_schedule(calls, **axes).in_chunks(self._behaviour.tokens_per_chunk)
        self.schedule, self._unused = tables(self.plan)
        self.stamps = Table.create("provider", provider_columns(self.plan.calls, self.plan.tokens))
        self.certificate = made_certificate()
        self._hold = hold
        self._up = threading.Event()
        # A test that fails does not close it: that must not keep the whole run from ending.
        self._thread = threading.Thread(target=lambda: uvloop.run(self._main()), daemon=True)
        self._thread.start()
        assert self._up.wait(30)

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop, self._stop = loop, loop.create_future()
        self.streams = Streams(
            loop,
            self.schedule,
            self.stamps,
            1_000_000,
            hold=self._hold,
            behaviour=self._behaviour,
            marked_only=self._marked_only,
        )
        plain, secure = listen("127.0.0.1", [0]), listen("127.0.0.1", [0])
        self.address, self.tls_address = plain[0].getsockname(), secure[0].getsockname()
        certificate = self.certificate
        context = server_context(certificate.trusted, certificate.key, http2=self._http2 is not None)
        self._up.set()
        await serve(
            self.streams,
            self._stop,
            plain,
            secure,
            context,
            request_s=self._request_s,
            handshake_s=self._handshake_s,
            http2=self._http2,
        )

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set_result, None)
        self._thread.join(30)
        assert not self._thread.is_alive()
        for table in (self.schedule, self._unused, self.stamps):
            table.close()

    def connect(self, *, tls: bool = False) -> socket.socket:
        if not tls:
            return socket.create_connection(self.address, timeout=30)
        connection = socket.create_connection(self.tls_address, timeout=30)
        context = ssl.create_default_context(cafile=self.certificate.trusted)
        return context.wrap_socket(connection, server_hostname="127.0.0.1", suppress_ragged_eofs=False)

    def ask(self, data: bytes, *, tls: bool = False) -> tuple[int, bytes]:
        """Send bytes, read one whole answer."""
        with self.connect(tls=tls) as connection:
            connection.sendall(data)
            return answer(connection)

    def chat(self, prompt: str, *, tls: bool = False) -> tuple[int, bytes]:
        return self.ask(post("127.0.0.1", "/v1/chat/completions", request_body(prompt)), tls=tls)

    def get(self, path: str, *headers: str) -> tuple[int, Any]:
        """Status and JSON of a GET."""
        lines = [f"GET {path} HTTP/1.1", "Host: x", *headers, "", ""]
        status, body = self.ask("\r\n".join(lines).encode())
        return status, json.loads(body)

    def send(self, path: str, content: object) -> tuple[int, Any]:
        """Status and JSON of a POST of JSON."""
        status, body = self.ask(post("x", path, json.dumps(content).encode()))
        return status, json.loads(body)

    def stats(self) -> dict[str, Any]:
        return self.get("/sim/stats")[1]


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """Status and body of the next answer on a connection."""
    decoder = ResponseDecoder()
    body = b""
    while not decoder.complete:
        data = connection.recv(65536)
        if not data:
            break
        body += decoder.feed(data)
    return decoder.status, body
