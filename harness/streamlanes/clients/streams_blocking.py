"""The blocking twin of `streams`: a connection and one recv loop a call."""

import socket

from streamlanes.clients.base import READ_BYTES, Into, now_ns, refused
from streamlanes.clients.tls import Connecting
from streamlanes.samples import Outcome
from streamlanes.wire.http1 import HttpError, ResponseDecoder, post


class Streams(Connecting):
    """socket.create_connection, then recv until the answer is complete."""

    async def stream(self, into: Into) -> None:
        """One call over one connection of its own."""
        host, port = self._setting.address(into.call)
        try:
            connection = self._wrapped(socket.create_connection((host, port)), host)
        except OSError:
            into.end(Outcome.CONNECT_ERROR, now_ns())
            return
        into.stamp("connected", now_ns())
        with connection:
            try:
                into.stamp("sent", now_ns())
                connection.sendall(post(f"{host}:{port}", into.path, into.request))
                answer = ResponseDecoder()
                while data := connection.recv(READ_BYTES):
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


open_client = Streams
