"""The simulated provider: listens, plain and over TLS, until it is told to stop."""

import asyncio
import socket
import ssl
from collections.abc import Sequence

from streamlanes.provider.connection import Connection, Newer
from streamlanes.provider.deadlines import REQUEST_S, Deadlines
from streamlanes.provider.streams import Streams
from streamlanes.provider.tls import HANDSHAKE_S, SHUTDOWN_S

BACKLOG = 65_535
"""As long as the system allows: it is capped by somaxconn."""


def listen(host: str, ports: Sequence[int]) -> list[socket.socket]:
    """Listening sockets, each with as long a backlog as the system allows.

    A port of 0 lets the system choose. Raises OSError for a port that is taken.
    """
    sockets: list[socket.socket] = []
    try:
        for port in ports:
            sockets.append(socket.create_server((host, port), backlog=BACKLOG))
    except BaseException:
        for opened in sockets:
            opened.close()
        raise
    return sockets


async def serve(  # noqa: PLR0913  # two lists of sockets, and two limits that a test shortens
    streams: Streams,
    stop: "asyncio.Future[None]",
    plain: Sequence[socket.socket],
    secure: Sequence[socket.socket] = (),
    context: ssl.SSLContext | None = None,
    *,
    request_s: float = REQUEST_S,
    handshake_s: float = HANDSHAKE_S,
    http2: Newer | None = None,
) -> None:
    """Answer on these sockets until `stop` is done, then close every connection.

    secure: sockets that speak TLS, under `context`. request_s: how long a request may take to come;
    handshake_s: a TLS handshake before it. http2: what speaks that to callers who begin with it; None to
    refuse it.
    """
    loop = asyncio.get_running_loop()
    connections: set[Connection] = set()
    deadlines = Deadlines(loop, request_s)

    def connection() -> Connection:
        return Connection(streams, connections, deadlines, http2)

    servers = [await loop.create_server(connection, sock=each, backlog=BACKLOG) for each in plain]
    servers += [
        await loop.create_server(
            connection,
            sock=each,
            backlog=BACKLOG,
            ssl=context,
            ssl_handshake_timeout=handshake_s,
            ssl_shutdown_timeout=SHUTDOWN_S,
        )
        for each in secure
    ]
    try:
        await stop
    finally:
        for server in servers:
            server.close()
        for each in list(connections):
            each.abort()
        deadlines.close()
        streams.close()
