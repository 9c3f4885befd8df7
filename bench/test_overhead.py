"""What measuring costs: the harness's job beside a bare one, everything else the same.

Held to: at most 5 % CPU per token. Reported, not asserted. `whole` is CPU from ready to drained over
all tokens; `streaming` leaves out making and ending the calls, which both jobs do alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from real import abba, bench_of, cell, compared, doubts, measured, shown
from streamlanes.lanes.io import LANE
from streamlanes.metrics import Calls
from streamlanes.process import Bench
from timing import Note

CALLS, PAIRS, MANY_PAIRS = 1_000, 8, 32
LOAD = {"ramp_s": 0.5, "ttft_ms": 50.0, "tokens": 26}
"""`steady` at 1,000 calls and 20,000 tokens/s, shortened to 1.9 s: many short pairs say more than a few
long ones, since a noisy host is seldom quiet for long."""
TINY = {"ramp_s": 0.0, "arrival": "burst", "ttft_ms": 20.0, "gap_ms": 10.0, "tokens": 4}


@dataclass(frozen=True)
class Arms:
    """The two jobs' benches."""

    harness: Bench
    bare: Bench


@pytest.fixture(scope="module")
def arms(importable: None) -> Iterator[Arms]:
    made = Arms(bench_of(LANE), bench_of(replace(LANE, job="bare:BareJob")))
    yield made
    made.harness.close()
    made.bare.close()


def streaming_us(calls: Calls) -> float | None:
    """CPU per token while all calls stream; None if that lasted for less than two readings.

    By the provider's send times, since a bare job has no others.
    """
    assert calls.timed.provider is not None
    sent = calls.timed.provider.sent
    from_ns, to_ns = sent[calls.schedule.first[:-1]].max(), calls.stamps.end.min()
    inside = [reading for reading in calls.timed.readings if from_ns <= reading.at_ns <= to_ns]
    if len(inside) < 2:
        return None
    tokens = int(((sent > inside[0].at_ns) & (sent <= inside[-1].at_ns)).sum())
    return (inside[-1].cell_total_ns - inside[0].cell_total_ns) / 1000 / tokens


@pytest.mark.parametrize(
    ("client", "backend", "pairs"),
    [
        ("streams", "asyncio", PAIRS),
        ("streams", "uvloop", PAIRS),
        ("floor", "asyncio", PAIRS),
        # Where a token is cheapest, measuring it weighs most: this one decides, given the time.
        ("floor", "uvloop", PAIRS),
        pytest.param("floor", "uvloop", MANY_PAIRS, marks=pytest.mark.long),
    ],
)
def test_overhead(benchmark: BenchmarkFixture, note: Note, arms: Arms, client: str, backend: str, pairs: int):
    calls, pairs, load = (CALLS, pairs, LOAD) if benchmark.enabled else (20, 1, TINY)
    what = cell(backend, client, "steady", calls, **load)
    ours, bare = benchmark.pedantic(
        abba, args=(pairs, lambda: measured(arms.harness, what), lambda: measured(arms.bare, what)), rounds=1
    )
    assert all((each.calls.stamps.received > 0).all() for each in ours), "the harness stamps every token"
    assert not any(each.calls.stamps.received.any() for each in bare), "the bare job stamps none"
    for name, us in (
        ("whole", lambda each: each.record.work["cpu_us_per_unit"]),
        ("streaming", lambda each: streaming_us(each.calls)),
    ):
        a, b = [us(each) for each in ours], [us(each) for each in bare]
        note(**{f"{name}_ratio": compared(a, b), f"{name}_us": shown(a), f"{name}_bare_us": shown(b)})
    note(flags=doubts([*ours, *bare]))
