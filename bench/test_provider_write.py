"""What one token costs the provider: the frame, the write to a real connection, the wheel.

Nobody waits at the other end (what comes is read between two rounds), so waking the reader is not in it.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import uvloop
from pytest_benchmark.fixture import BenchmarkFixture

from streamlanes.clients.base import now_ns
from streamlanes.pass_tables import Tables
from streamlanes.provider.ask import Ask
from streamlanes.provider.streams import Stream, Streams
from streamlanes.provider.wheel import Wheel
from streamlanes.providers import TICK_NS
from streamlanes.workload import build, resolve
from timing import Note, ns_each

CALLS = 100
TOKENS = 21
GAP_MS = 5
A_TICK = 20
"""100 calls with a token every 5 ms: 20,000 tokens/s, 20 a tick, as in `steady`."""
ROUNDS = 50

pytestmark = pytest.mark.usefixtures("awake")


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = uvloop.new_event_loop()
    yield made
    made.close()


@pytest.fixture
def tables() -> Iterator[Tables]:
    axes = {"ttft_ms": 1.0, "gap_ms": GAP_MS, "tokens": TOKENS}
    made = Tables(build(resolve("lesson", CALLS, axes), CALLS))
    yield made
    made.close()


@dataclass(frozen=True)
class Lines:
    """Loopback connections: the provider's transports, and the other ends."""

    transports: list[asyncio.Transport]
    peers: list[socket.socket]

    def drain(self) -> bytes:
        """Everything that has come at the other ends."""
        found: list[bytes] = []
        for peer in self.peers:
            with contextlib.suppress(BlockingIOError):
                while data := peer.recv(1 << 16):
                    found.append(data)
        return b"".join(found)


@pytest.fixture
def lines(loop: asyncio.AbstractEventLoop) -> Iterator[Lines]:
    made = Lines([], [])
    with socket.create_server(("127.0.0.1", 0), backlog=CALLS) as server:
        for _ in range(CALLS):
            peer = socket.create_connection(server.getsockname())
            peer.setblocking(False)
            made.peers.append(peer)
            accepted, _ = server.accept()
            transport, _ = loop.run_until_complete(loop.create_connection(asyncio.Protocol, sock=accepted))
            made.transports.append(transport)
    yield made
    for transport in made.transports:
        transport.close()
    loop.run_until_complete(asyncio.sleep(0.01))  # a transport closes its socket in a later turn
    for peer in made.peers:
        peer.close()


def test_turn(
    benchmark: BenchmarkFixture,
    note: Note,
    loop: asyncio.AbstractEventLoop,
    tables: Tables,
    lines: Lines,
):
    """A token of each of 20 streams a tick, in the order they are due; the next ones go to the wheel."""
    made: list[Streams] = []

    def begun() -> tuple[tuple[Streams, list[tuple[list[Stream], int]]], dict[str, object]]:
        """Every stream past its first token, which carries the response's head; nothing unread."""
        while made:
            made.pop().close()
        streams = Streams(loop, tables.schedule, tables.provider, TICK_NS, hold=False)
        made.append(streams)
        offset = tables.schedule["offset"]
        due: list[tuple[int, Stream]] = []
        for call, transport in enumerate(lines.transports):
            stream = streams.begin(Ask(call=call), now_ns(), transport)
            streams._turn([stream], stream.base_ns + offset[stream.row])
            due += [(stream.base_ns + offset[row], stream) for row in range(stream.row, stream.stop)]
        lines.drain()
        due.sort(key=lambda pair: pair[0])
        ticks = [due[first : first + A_TICK] for first in range(0, len(due), A_TICK)]
        return (streams, [([stream for _, stream in tick], tick[-1][0]) for tick in ticks]), {}

    def turn(streams: Streams, ticks: list[tuple[list[Stream], int]]) -> Streams:
        for due, at in ticks:
            streams._turn(due, at)
        return streams

    streams = benchmark.pedantic(turn, setup=begun, rounds=ROUNDS, warmup_rounds=2)
    try:
        assert streams.counts.tokens == CALLS * TOKENS
        assert streams.counts.in_flight == 0
        came = lines.drain()
        assert came.count(b'"content":" ') == CALLS * (TOKENS - 1)
        assert came.count(b"[DONE]") == CALLS
    finally:
        streams.close()
    note(ns_per_token=ns_each(benchmark, CALLS * (TOKENS - 1)))


def test_wheel(benchmark: BenchmarkFixture, note: Note, loop: asyncio.AbstractEventLoop):
    """In and out of the wheel, 20 items a tick; the timer itself, set once a tick, is not in it."""
    fired: list[int] = []
    wheel: Wheel[int] = Wheel(loop, TICK_NS, lambda items, now: fired.extend(items))
    items = CALLS * (TOKENS - 1)
    due = [(k // 20 + 1) * TICK_NS - 1 for k in range(items)]  # long past: one turn takes them all

    def turn() -> None:
        fired.clear()
        for item, at in enumerate(due):
            wheel.at(at, item)
        wheel._turn()

    benchmark(turn)
    wheel.close()
    assert fired == list(range(items))
    note(ns_per_item=ns_each(benchmark, items))
