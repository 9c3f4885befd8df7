"""Acceptance case A8 over real sockets: how an answer ends, told by every form of `streams` and `floor`."""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

from facts_made import facts, timed
from jobs_fakes import setting, small_schedule, stamps, tables
from streamlanes.backends import Waits
from streamlanes.backends.base import drive
from streamlanes.clients import CLIENTS
from streamlanes.jobs.io import IoJob
from streamlanes.lanes.io import LANE
from streamlanes.metrics import Calls

CALLS = 40
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"y"}}]}\n\n'
HALF = TOKEN[: TOKEN.index(b"}")]
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
ENDINGS = [TOKEN * 5 + FINISH, TOKEN * 5 + HALF, TOKEN * 5, TOKEN * 5]
RESET = 3
"""Which of the endings is a reset; the others close."""


def answer(connection: socket.socket, kind: int) -> None:
    """One answer, ended as its kind says."""
    with connection:
        request = b""
        while b"[call " not in request:
            request += connection.recv(65536)
        connection.sendall(HEAD + ENDINGS[kind])
        if kind == RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """A provider that ends its answers in each of the four ways in turn."""
    with (
        socket.create_server(("127.0.0.1", 0), backlog=CALLS) as listening,
        ThreadPoolExecutor(CALLS) as pool,
    ):

        def serve() -> None:
            for call in range(CALLS):
                connection, _ = listening.accept()
                pool.submit(answer, connection, call % len(ENDINGS))

        serving = threading.Thread(target=serve)
        serving.start()
        yield listening.getsockname()
        serving.join(30)


def in_one_loop(job: IoJob) -> None:
    async def main() -> None:
        await asyncio.gather(*(job(call) for call in range(CALLS)))

    asyncio.run(main())


def in_threads(job: IoJob) -> None:
    with ThreadPoolExecutor(CALLS) as pool:
        list(pool.map(lambda call: drive(job(call)), range(CALLS)))


@pytest.mark.parametrize("client", ["streams", "floor"])
@pytest.mark.parametrize(("waits", "run"), [(Waits.ASYNC, in_one_loop), (Waits.BLOCKING, in_threads)])
def test_a8_only_what_said_that_it_was_over_is_ok(
    address: tuple[str, int], client: str, waits: Waits, run: Callable[[IoJob], None]
):
    module, attribute = CLIENTS[client].forms[waits].split(":")
    plan = small_schedule(CALLS, tokens=5.0)
    schedule, samples = tables(plan)
    made = setting(schedule, addresses=(address,))
    run(IoJob(made, samples, getattr(import_module(module), attribute)(made)))
    view = Calls(facts(plan, timed=timed(plan, calls=stamps(samples))))
    found = {metric.path: metric.of(view) for metric in LANE.metrics if metric.path.startswith("counts.")}
    schedule.close()
    samples.close()
    assert found["counts.ok"] == found["counts.no_sentinel"] == 10
    assert found["counts.truncated"] == 20
    assert found["counts.reset"] == 10
    assert view.distribution("e2e_ms")["count"] == 10
    assert found["counts.lost_tokens"] == found["counts.extra_tokens"] == 0, "no half event is a token"
