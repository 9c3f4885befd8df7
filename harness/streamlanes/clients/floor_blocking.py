"""The fastest a blocking call can be: recv_into a small buffer that lives as long as the call."""

import socket

from streamlanes.clients.base import Into, now_ns, refused
from streamlanes.clients.tls import Connecting
from streamlanes.samples import Outcome
from streamlanes.wire.http1 import HttpError, ResponseDecoder, post

BUFFER_BYTES = 4096
"""Each waiting thread holds one, so it is small; a token's frame is about 235 bytes."""


class Floor(Connecting):
    """A bare socket and recv_into."""

    async def stream(self, into: Into) -> None:
        """One call over one connection of its own."""
        host, port = self._setting.address(into.call)
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            connection.connect((host, port))
            connection = self._wrapped(connection, host)
        except OSError:
            connection.close()
            into.end(Outcome.CONNECT_ERROR, now_ns())
            return
        with connection:
            now = now_ns()
            into.stamp("connected", now)
            into.stamp("sent", now)
            try:
                connection.sendall(post(f"{host}:{port}", into.path, into.request))
                answer = ResponseDecoder()
                buffer = bytearray(BUFFER_BYTES)
                view = memoryview(buffer)
                receive = connection.recv_into
                while count := receive(buffer):
                    now = now_ns()
                    body = answer.feed(bytes(view[:count]))
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


open_client = Floor
