"""The load that the project is judged at: 10,000 calls and 20,000 tokens/s. Long: run with -m long.

Held to: floor at most 0.75 times the CPU per token of streams on uvloop; the provider's own lateness
p99 at most 3 ms; no token lost; median efficiency at least 0.985. Only the tokens are asserted.
"""

from collections.abc import Iterator
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from real import Measured, abba, bench_of, cell, compared, doubts, measured, shown
from streamlanes.lanes.io import LANE
from streamlanes.process import Bench
from timing import Note

CALLS, TIMES = 10_000, 3
TINY = {"ramp_s": 0.0, "arrival": "burst", "ttft_ms": 20.0, "gap_ms": 10.0, "tokens": 4}

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = bench_of(LANE)
    yield made
    made.close()


def size(benchmark: BenchmarkFixture) -> tuple[int, int, dict[str, object]]:
    """Calls, repetitions and axes: the real ones, or as few as show that it runs."""
    return (CALLS, TIMES, {}) if benchmark.enabled else (20, 1, dict(TINY))


def each(made: list[Measured], path: str) -> list[float | None]:
    return [one.record.figure(path) for one in made]


def note_all(note: Note, name: str, made: list[Measured]) -> None:
    """A cell's figures, every repetition."""
    efficiency = [value for value in each(made, "time.efficiency") if value is not None]
    note(
        **{
            f"{name}_cpu_us_per_token": shown(each(made, "time.cpu_us_per_token")),
            f"{name}_provider_cpu_us_per_token": shown(each(made, "time.provider_cpu_us_per_token")),
            f"{name}_stream_p99_ms": shown(each(made, "latency.stream_ms.p99")),
            f"{name}_provider_p99_ms": shown(each(made, "latency.provider_ms.p99")),
            f"{name}_lost_tokens": sum(one.record.counts["lost_tokens"] for one in made),
            f"{name}_efficiency": shown(list(efficiency), 4),
            f"{name}_median_efficiency": round(median(efficiency), 4),
            f"{name}_flags": doubts(made),
        }
    )


def test_floor_against_streams_on_uvloop(benchmark: BenchmarkFixture, note: Note, bench: Bench):
    calls, pairs, axes = size(benchmark)
    floor, streams = (cell("uvloop", client, "steady", calls, **axes) for client in ("floor", "streams"))
    fast, plain = benchmark.pedantic(
        abba, args=(pairs, lambda: measured(bench, floor), lambda: measured(bench, streams)), rounds=1
    )
    path = "time.cpu_us_per_token"
    note(tokens=fast[0].record.counts["tokens"])
    note(floor_to_streams=compared(each(fast, path), each(plain, path)))
    note_all(note, "floor", fast)
    note_all(note, "streams", plain)


def test_streams_on_asyncio(benchmark: BenchmarkFixture, note: Note, bench: Bench):
    calls, times, axes = size(benchmark)
    what = cell("asyncio", "streams", "steady", calls, **axes)
    made: list[Measured] = []
    benchmark.pedantic(lambda: made.append(measured(bench, what)), rounds=times)
    note(tokens=made[0].record.counts["tokens"])
    note_all(note, "streams", made)
