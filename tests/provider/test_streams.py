"""In which order a stream's bytes leave, whatever its socket takes."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from streamlanes.clients.base import now_ns
from streamlanes.pass_tables import Tables
from streamlanes.provider.ask import Ask
from streamlanes.provider.streams import Streams
from streamlanes.provider.wheel import Wheel
from streamlanes.workload import build, resolve


class Full:
    """A transport whose socket takes what it is given and which still has some of an answer before."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.waiting = b"before"

    def get_extra_info(self, name: str) -> object:
        return self.connection if name == "socket" else None

    def get_write_buffer_size(self) -> int:
        return len(self.waiting)

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        self.waiting += data


@pytest.fixture
def tables() -> Iterator[Tables]:
    made = Tables(build(resolve("lesson", 1, {"tokens": 5}), 1))
    yield made
    made.close()


def test_no_token_overtakes_what_its_transport_still_has(tables: Tables, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Wheel, "at", lambda *_: None)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    loop = asyncio.new_event_loop()
    streams = Streams(loop, tables.schedule, tables.provider, 1_000_000, hold=False)
    transport = Full(ours)
    stream = streams.begin(Ask(call=0), now_ns(), transport)
    offset = tables.schedule["offset"]
    for row in range(3):
        streams._turn([stream], stream.base_ns + offset[row])
    with pytest.raises(BlockingIOError):
        theirs.recv(1)
    assert transport.waiting.startswith(b"before")
    assert transport.waiting.count(b'"content":" ') == 3
    transport.waiting = b""
    streams._turn([stream], stream.base_ns + offset[3])
    assert theirs.recv(4096).count(b'"content":" ') == 1, "and straight to the socket once that is sent"
    streams.close()
    loop.close()
    ours.close()
    theirs.close()
