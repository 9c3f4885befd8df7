"""What measuring one token costs, beside what receiving it costs anyway."""

from collections.abc import Iterator
from random import Random

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bare import BareReceiver
from streamlanes.clients.base import Setting, now_ns
from streamlanes.jobs.io import Receiver
from streamlanes.pass_tables import Tables
from streamlanes.wire import DIALECTS, dialect
from streamlanes.workload import build, resolve
from texts import WAYS, bodies
from timing import Note, ns_each

TOKENS = 1000
CALLS, TOKENS_EACH, ROUNDS = 1000, 20, 20
BODIES = bodies(TOKENS)
ANSWERS = {api: bodies(TOKENS, way) for api, way in WAYS.items()}

pytestmark = pytest.mark.usefixtures("awake")


@pytest.fixture
def tables() -> Iterator[Tables]:
    made = Tables(build(resolve("lesson", 1, {"tokens": TOKENS}), 1))
    yield made
    made.close()


def receiver(kind: type[Receiver], call: int, tables: Tables, api: str = "openai") -> Receiver:
    return kind(call, Setting(tables.schedule, (), hold=False, api=api), tables.calls, dialect(api))


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
        into = receiver(kind, 0, tables)
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
        made = [receiver(kind, call, tables) for call in range(CALLS)]
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


@pytest.mark.parametrize("api", DIALECTS)
def test_dialect(benchmark: BenchmarkFixture, note: Note, tables: Tables, api: str):
    """A receiver of each dialect: what its names and its nesting cost."""
    texts = ANSWERS[api]

    def receive() -> Receiver:
        into = receiver(Receiver, 0, tables, api)
        for text in texts:
            into.feed(text, 1_000_000_007)
        return into

    assert benchmark(receive).count == TOKENS
    note(ns_per_token=ns_each(benchmark, TOKENS))


@pytest.mark.parametrize("api", DIALECTS)
def test_decoder(benchmark: BenchmarkFixture, note: Note, api: str):
    def through() -> int:
        feed = dialect(api).decoder().feed
        return sum(len(feed(text)) for text in ANSWERS[api])

    assert benchmark(through) == TOKENS
    note(ns_per_token=ns_each(benchmark, TOKENS))


@pytest.mark.parametrize("api", DIALECTS)
def test_fold(benchmark: BenchmarkFixture, note: Note, api: str):
    decoder = dialect(api).decoder()
    events = [event for text in ANSWERS[api] for event in decoder.feed(text)]

    def through() -> int:
        add = dialect(api).fold().add
        found = 0
        for event in events:
            if add(event):
                found += 1
        return found

    assert benchmark(through) == TOKENS
    note(ns_per_token=ns_each(benchmark, TOKENS))
