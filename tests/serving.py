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

import uvloop

from jobs_fakes import small_schedule, tables
from streamlanes import certificate
from streamlanes.provider.server import listen, serve
from streamlanes.provider.streams import Streams
from streamlanes.provider.tls import server_context
from streamlanes.samples import Table, provider_columns
from streamlanes.wire.http1 import ResponseDecoder, post
from streamlanes.wire.openai import request_body

@cache
def made_certificate() -> certificate.Certificate:
    """One for all tests: what it holds is tested elsewhere."""
    folder = tempfile.mkdtemp(prefix="streamlanes-tests-")
    atexit.register(shutil.rmtree, folder)
    return certificate.make(folder)


class Serving:
    """A provider with a plain port and a TLS port, at `address` and `tls_address`."""

    def __init__(self, hold: bool = False, calls: int = 4) -> None:
        self.plan = small_schedule(calls)
        self.schedule, self._unused = tables(self.plan)
        self.stamps = Table.create("provider", provider_columns(self.plan.calls, self.plan.tokens))
        self.certificate = made_certificate()
        self._hold = hold
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._main()))
        self._thread.start()
        assert self._up.wait(30)

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop, self._stop = loop, loop.create_future()
        self.streams = Streams(loop, self.schedule, self.stamps, tick_ns=1_000_000, hold=self._hold)
        plain, secure = listen("127.0.0.1", [0]), listen("127.0.0.1", [0])
        self.address, self.tls_address = plain[0].getsockname(), secure[0].getsockname()
        context = server_context(self.certificate.trusted, self.certificate.key)
        self._up.set()
        await serve(self.streams, self._stop, plain, secure, context)

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
        return context.wrap_socket(connection, server_hostname="127.0.0.1")

    def ask(self, data: bytes, *, tls: bool = False) -> tuple[int, bytes]:
        """Send bytes, read one whole answer."""
        with self.connect(tls=tls) as connection:
            connection.sendall(data)
            return answer(connection)

    def chat(self, prompt: str, *, tls: bool = False) -> tuple[int, bytes]:
        return self.ask(post("127.0.0.1", "/v1/chat/completions", request_body(prompt)), tls=tls)

    def stats(self) -> dict[str, object]:
        return json.loads(self.ask(b"GET /sim/stats HTTP/1.1\r\nHost: x\r\n\r\n")[1])


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
