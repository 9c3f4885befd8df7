"""What measuring one token costs, beside what receiving it costs anyway."""

from collections.abc import Callable, Iterator
from random import Random

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bare import BareReceiver
from streamlanes.clients.base import now_ns
from streamlanes.jobs.io import Receiver
from streamlanes.process import Tables
from streamlanes.wire.openai import ChatFold
from streamlanes.wire.sse import EventDecoder
from streamlanes.workload import build, resolve
from texts import bodies
from timing import Note, ns_each

TOKENS = 1000
CALLS, TOKENS_EACH, ROUNDS = 1000, 20, 20
BODIES = bodies(TOKENS)
DATA = [body[6:-2] for body in BODIES]

pytestmark = pytest.mark.usefixtures("awake")


@pytest.fixture
def tables() -> Iterator[Tables]:
    made = Tables(build(resolve("lesson", 1, {"tokens": TOKENS}), 1))
    yield made
    made.close()


def test_stamp(benchmark: BenchmarkFixture, note: Note, tables: Tables):
    received = tables.calls["received"]

    def stamp() -> None:
        for row in range(TOKENS):
            received[row] = 1_000_000_007

    benchmark(stamp)
    assert received[0] == received[TOKENS - 1] == 1_000_000_007
    note(ns_per_stamp=ns_each(benchmark, TOKENS))


def test_clock(benchmark: BenchmarkFixture, note: Note):
    """Once a read, in the client."""

    def read() -> None:
        for _ in range(TOKENS):
            now_ns()

    benchmark(read)
    note(ns_per_reading=ns_each(benchmark, TOKENS))


@pytest.mark.parametrize("kind", [Receiver, BareReceiver])
def test_receiver(benchmark: BenchmarkFixture, note: Note, tables: Tables, kind: type[Receiver]):
    """Decoder, fold and count, and in the harness's receiver the stamp: the difference is what it adds."""

    def receive() -> Receiver:
        into = kind(0, tables.schedule, tables.calls)
        feed = into.feed
        for body in BODIES:
            feed(body, 1_000_000_007)
        return into

    into = benchmark(receive)
    assert into.count == TOKENS
    assert tables.calls["received"][TOKENS - 1] == (1_000_000_007 if kind is Receiver else 0)
    note(ns_per_token=ns_each(benchmark, TOKENS))


@pytest.mark.parametrize("kind", [Receiver, BareReceiver])
def test_receivers_in_turn(benchmark: BenchmarkFixture, note: Note, kind: type[Receiver]):
    """The same for a token of each of 1,000 calls in turn, as in a cell: no call's objects are still in
    the CPU's caches when its next token comes."""
    tables = Tables(build(resolve("lesson", CALLS, {"tokens": TOKENS_EACH}), CALLS))
    tables.calls.touch()
    bodies_each = BODIES[:TOKENS_EACH]

    def fresh() -> tuple[tuple[list[Receiver]], dict[str, object]]:
        made = [kind(call, tables.schedule, tables.calls) for call in range(CALLS)]
        Random(1).shuffle(made)
        return (made,), {}

    def receive(made: list[Receiver]) -> int:
        for body in bodies_each:
            for into in made:
                into.feed(body, 1_000_000_007)
        return sum(into.count for into in made)

    assert benchmark.pedantic(receive, setup=fresh, rounds=ROUNDS, warmup_rounds=1) == CALLS * TOKENS_EACH
    tables.close()
    note(ns_per_token=ns_each(benchmark, CALLS * TOKENS_EACH))


@pytest.mark.parametrize(
    ("part", "texts"),
    [
        pytest.param(lambda: EventDecoder().feed, BODIES, id="EventDecoder"),
        pytest.param(lambda: ChatFold().add, DATA, id="ChatFold"),
    ],
)
def test_receiver_part(
    benchmark: BenchmarkFixture, note: Note, part: Callable[[], Callable[[bytes], object]], texts: list[bytes]
):
    def through() -> int:
        take = part()
        found = 0
        for text in texts:
            if take(text):
                found += 1
        return found

    assert benchmark(through) == TOKENS
    note(ns_per_token=ns_each(benchmark, TOKENS))
