"""How bytes leave by a connection, and how it is broken on purpose."""

import asyncio
import os
import socket
import struct
from collections.abc import Callable

Send = Callable[[bytes], object]

_NO_LINGER = struct.pack("ii", 1, 0)


class Shared:
    """One of several ways out of a connection: it frames what is written, and breaks off alone."""

    def write(self, data: bytes) -> None:
        """All of it, now or as soon as it may be sent."""
        raise NotImplementedError

    def break_off(self) -> None:
        """End it as broken."""
        raise NotImplementedError


class Direct:
    """Writes straight to a connection's socket, so that the send time is true: a transport's write may wait
    for the loop's next turn. What the socket does not take goes the transport's way."""

    __slots__ = ("_transport", "fd")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.fd: int = transport.get_extra_info("socket").fileno()

    def send(self, data: bytes) -> None:
        """All of it, now or as soon as the socket takes it."""
        if self._transport.get_write_buffer_size() == 0:
            try:
                taken = os.write(self.fd, data)
            except BlockingIOError:
                taken = 0
            except OSError:  # the caller left; the transport notices it too and ends the stream
                return
            if taken == len(data):
                return
            data = data[taken:]
        self._transport.write(data)


def sender(transport: asyncio.Transport) -> tuple[Send, int]:
    """The connection's way out, and the descriptor that may be written to in its stead as long as that takes
    all; -1 for none. Over TLS it is the loop's own write: uvloop's encrypts and writes to the socket before
    it returns."""
    if isinstance(transport, Shared) or transport.get_extra_info("sslcontext") is not None:
        return transport.write, -1
    direct = Direct(transport)
    return direct.send, direct.fd


def reset(transport: asyncio.Transport) -> None:
    """Close with a reset (RST) in place of an orderly end; what is unread at the other side may be lost."""
    if isinstance(transport, Shared):
        transport.break_off()
        return
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()
