"""Whatever bytes come, in whatever pieces: an answer with a 4xx, a close, or the model's own answer."""

import asyncio
import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobs_fakes import small_schedule, tables
from streamlanes.provider.connection import MAX_HEAD_BYTES, MAX_MESSAGE_BYTES, Connection
from streamlanes.provider.deadlines import Deadlines
from streamlanes.provider.streams import Streams
from streamlanes.samples import Table, provider_columns
from streamlanes.wire.http1 import post
from streamlanes.wire.openai import request_body

CHAT = post("x", "/v1/chat/completions", request_body("[call 1] hi"))
SEEDS = [
    CHAT,
    CHAT + CHAT,
    post("x", "/v1/messages", b'{"messages":[{"content":"hi"}],"max_tokens":1}'),
    post("x", "/v1/embeddings", b'{"input":["a",[1,2]],"encoding_format":"base64"}'),
    b"GET /v1/models HTTP/1.1\r\nHost: x\r\nanthropic-version: 1\r\n\r\n",
    b"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}}\r\n0\r\nT: x\r\n\r\n",
    b"HEAD /health HTTP/1.0\r\n\r\n",
    b"GET /sim/stats HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
]


class Socket:
    def fileno(self) -> int:
        return -1


class Transport:
    """What is written to it is kept; after a close nothing may be."""

    def __init__(self) -> None:
        self.written = b""
        self.closed = False

    def get_extra_info(self, name: str) -> object:
        return Socket() if name == "socket" else None

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        assert not self.closed, "nothing is written behind a close"
        self.written += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed


@pytest.fixture(scope="module")
def streams():
    loop = asyncio.new_event_loop()
    plan = small_schedule(4)
    schedule, unused = tables(plan)
    stamps = Table.create("provider", provider_columns(plan.calls, plan.tokens))
    made = Streams(loop, schedule, stamps, 1_000_000, hold=False)
    yield made
    made.close()
    loop.close()
    for table in (schedule, unused, stamps):
        table.close()


def fed(streams: Streams, pieces: list[bytes]) -> tuple[Connection, Transport]:
    loop = asyncio.new_event_loop()
    try:
        transport, known = Transport(), set()
        deadlines = Deadlines(loop)
        connection = Connection(streams, known, deadlines)
        connection.connection_made(transport)
        for piece in pieces:
            if transport.closed:
                break
            connection.data_received(piece)
        deadlines.close()
        connection.connection_lost(None)
        assert known == set()
        return connection, transport
    finally:
        loop.close()


@st.composite
def mangled(draw: st.DrawFn) -> list[bytes]:
    """A request with some bytes changed, cut out or put in, in pieces."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 4))] = draw(st.binary(max_size=6))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=4)))
    return [bytes(data[a:b]) for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@settings(max_examples=300, deadline=None)
@given(mangled() | st.lists(st.binary(max_size=200), max_size=5))
@example([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"])
@example([b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
def test_every_answer_is_one_of_a_provider(streams: Streams, pieces: list[bytes]):
    _, transport = fed(streams, pieces)
    heads = re.findall(rb"HTTP/1\.1 (\d+) ", transport.written)
    assert {int(status) for status in heads} <= {100, 200, 400, 404, 413, 431}
    assert transport.written == b"" or transport.written.startswith(b"HTTP/1.1 ")
    assert streams.counts.in_flight == 0, "nobody is answered who is gone"


@given(st.lists(st.integers(1, len(CHAT) - 1), max_size=6))
def test_a_request_is_seen_once_in_whatever_pieces_it_comes(streams: Streams, cuts: list[int]):
    before = streams.counts.requests
    cuts.sort()
    _, transport = fed(streams, [CHAT[a:b] for a, b in zip([0, *cuts], [*cuts, len(CHAT)], strict=True)])
    assert streams.counts.requests == before + 1
    assert transport.written == b"", "its first token is not due yet"


@pytest.mark.parametrize(
    ("head", "piece", "most"),
    [
        (b"GET / HTTP/1.1\r\n", b"X-Header: " + b"a" * 1000 + b"\r\n", 2 * MAX_HEAD_BYTES),
        (b"GET /", b"a" * 1000, 2 * MAX_HEAD_BYTES),
        (b"GET / HTTP/1.1\r\nX: ", b"a" * 1000, 2 * MAX_HEAD_BYTES),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"3e8\r\n" + b"x" * 1000 + b"\r\n", None),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"T: " + b"x" * 997 + b"\r\n", None),
    ],
)
def test_what_has_no_end_is_cut_off(streams: Streams, head: bytes, piece: bytes, most: int | None):
    pieces = [head, *[piece] * 5000]
    _, transport = fed(streams, pieces)
    assert transport.closed
    assert re.match(rb"HTTP/1\.1 4(13|31|00) ", transport.written)
    body = transport.written.partition(b"\r\n\r\n")[2]
    assert json.loads(body)["error"]["message"]
    assert (most or MAX_MESSAGE_BYTES) < sum(map(len, pieces)), "or the test would show nothing"


def test_a_caller_that_reads_nothing_is_left(streams: Streams):
    class Full(Transport):
        def get_write_buffer_size(self) -> int:
            return 10 << 20

    transport = Full()
    loop = asyncio.new_event_loop()
    deadlines = Deadlines(loop)
    connection = Connection(streams, set(), deadlines)
    connection.connection_made(transport)
    connection.data_received(b"GET /health HTTP/1.1\r\n\r\n")
    deadlines.close()
    loop.close()
    assert (transport.closed, transport.written) == (True, b"")
