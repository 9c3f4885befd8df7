"""One small real cell of every backend: what it counted and what its calls weigh."""

from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from real import bench_of, cell, measured
from streamlanes.backends import BACKENDS
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from timing import Note

CALLS = 30
WIDTH = 10
TOKENS = 6
LOAD = {"ttft_ms": 250.0, "gap_ms": 50.0, "tokens": TOKENS}
"""Half a second a call, so that all are in flight before the first one ends."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = bench_of(LANE)
    yield made
    made.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_cell(benchmark: BenchmarkFixture, note: Note, bench: Bench, backend: str):
    bounded = BACKENDS[backend].bounded
    axes = {**LOAD, "width": WIDTH} if bounded else LOAD
    what = cell(backend, "streams", "lesson", CALLS, memory=benchmark.enabled, **axes)
    made = benchmark.pedantic(measured, args=(bench, what), rounds=1).record
    counts = made.counts
    assert counts["ok"] == CALLS
    assert counts["tokens"] == CALLS * TOKENS
    assert counts["lost_tokens"] == 0
    assert counts["peak_in_flight"] == counts["in_flight_target"] == (WIDTH if bounded else CALLS)
    note(**{name: counts[name] for name in ("ok", "tokens", "lost_tokens", "peak_in_flight")})
    for name in ("per_call_bytes", "plateau_pss_bytes"):
        figure = made.figure(f"memory.{name}")
        note(**{name: figure and round(figure)})
