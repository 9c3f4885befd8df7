"""In which order a stream's bytes leave, whatever its socket takes."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from streamlanes.clients.base import now_ns
from streamlanes.pass_tables import Tables
from streamlanes.provider.ask import Ask
from streamlanes.provider.connection import Connection
from streamlanes.provider.deadlines import Deadlines
from streamlanes.provider.streams import Stream, Streams
from streamlanes.provider.wheel import Wheel
from streamlanes.wire.http1 import post
from streamlanes.wire.openai import request_body
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


class Plain(Full):
    """A transport with nothing of an answer before, closed or not."""

    closed = False

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self.waiting = b""

    def close(self) -> None:
        self.closed = True


def test_no_token_comes_behind_the_answer_to_what_was_no_request(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
):
    """The connection is closed, but its socket is open until the loop's next turn."""
    monkeypatch.setattr(Wheel, "at", lambda *_: None)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    loop = asyncio.new_event_loop()
    streams = Streams(loop, tables.schedule, tables.provider, 1_000_000, hold=False)
    begun: list[Stream] = []
    begin = streams.begin
    monkeypatch.setattr(streams, "begin", lambda *args: begun.append(begin(*args)) or begun[0])
    connection = Connection(streams, set(), Deadlines(loop))
    transport = Plain(ours)
    connection.connection_made(transport)
    connection.data_received(post("h", "/v1/chat/completions", request_body("say it")))
    offset = tables.schedule["offset"]
    for row in range(2):
        streams._turn(begun, begun[0].base_ns + offset[row])
    assert theirs.recv(4096).count(b'"content":" ') == 2
    connection.data_received(b"\0no request\r\n\r\n")
    assert transport.closed
    assert b"400 Bad Request" in transport.waiting
    streams._turn(begun, begun[0].base_ns + offset[2])
    with pytest.raises(BlockingIOError):
        theirs.recv(1)
    assert streams.counts.abandoned == 1
    streams.close()
    loop.close()
    ours.close()
    theirs.close()
