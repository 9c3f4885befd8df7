"""Idiomatic standard library: a connection and one read loop a call, asyncio streams."""

import asyncio

from streamlanes.clients.base import READ_BYTES, Into, now_ns, refused
from streamlanes.clients.tls import Connecting
from streamlanes.samples import Outcome
from streamlanes.wire.http1 import HttpError, ResponseDecoder, post


class Streams(Connecting):
    """The asynchronous form: asyncio.open_connection, then reads until the answer is complete."""

    async def stream(self, into: Into) -> None:
        """One call over one connection of its own."""
        host, port = self._setting.address(into.call)
        try:
            reader, writer = await asyncio.open_connection(host, port, ssl=self._tls)
        except OSError:
            into.end(Outcome.CONNECT_ERROR, now_ns())
            return
        into.stamp("connected", now_ns())
        try:
            into.stamp("sent", now_ns())
            writer.write(post(f"{host}:{port}", into.path, into.request))
            answer = ResponseDecoder()
            while data := await reader.read(READ_BYTES):
                now = now_ns()
                body = answer.feed(data)
                if answer.status >= 300:
                    into.end(refused(answer.status), now)
                    return
                if body:
                    into.feed(body, now)
                if answer.complete:
                    break
            into.closed(now_ns())
        except self._broken:
            into.closed(now_ns(), reset=True)
        except HttpError:
            into.end(Outcome.PROTOCOL_ERROR, now_ns())
        finally:
            writer.close()


open_client = Streams
