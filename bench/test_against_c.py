"""`floor` on uvloop beside a C reader, the provider beside a C sender. Long: run with -m long.

10,000 streams and 20,000 tokens/s, chunks of the same size. Ours decode every byte and stamp every token;
the C pair makes the system calls and nothing else. Held to, while all calls stream: floor at most 2.5
times the reader's CPU per chunk, the provider at most 2.2 times the sender's. Reported, not asserted; only
the tokens are.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from loopback_c import build, run
from real import abba, bench_of, cell, compared, doubts, measured, shown
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from texts import chunks
from timing import Note

CALLS, PAIRS = 10_000, 4
PER_S = 20_000.0
CHUNKS_EACH = 10
"""Five seconds of sending; a cell's plateau lasts two."""
TINY = {"ramp_s": 0.0, "arrival": "burst", "ttft_ms": 20.0, "gap_ms": 10.0, "tokens": 4}
WRITES = chunks(200)
CHUNK_BYTES = round(sum(map(len, WRITES)) / len(WRITES))

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("loopback"))


@pytest.fixture(scope="module")
def bench(program: Path) -> Iterator[Bench]:
    made = bench_of(LANE)
    yield made
    made.close()


def test_floor_and_provider_against_c(benchmark: BenchmarkFixture, note: Note, bench: Bench, program: Path):
    calls, pairs, load, each, per_s = (
        (CALLS, PAIRS, {}, CHUNKS_EACH, PER_S) if benchmark.enabled else (20, 1, TINY, 4, 2_000.0)
    )
    what = cell("uvloop", "floor", "steady", calls, **load)
    ours, theirs = benchmark.pedantic(
        abba,
        args=(
            pairs,
            lambda: measured(bench, what),
            lambda: run(program, calls, each, per_s, CHUNK_BYTES),
        ),
        rounds=1,
    )
    assert [one.chunks for one in theirs] == [calls * each] * pairs
    assert all((one.calls.stamps.received > 0).all() for one in ours), "every token is stamped"
    read, send = [one.read_us for one in theirs], [one.send_us for one in theirs]
    for name, path, in_c in (
        ("floor_to_reader", "time.cpu_us_per_token", read),
        ("provider_to_sender", "time.provider_cpu_us_per_token", send),
    ):
        us = [one.record.figure(path) for one in ours]
        note(**{name: compared(us, list(in_c)), f"{name}_us": shown(us), f"{name}_c_us": shown(list(in_c))})
    note(chunk_bytes=CHUNK_BYTES, c_per_s=shown([one.got_per_s for one in theirs], 0), flags=doubts(ours))
