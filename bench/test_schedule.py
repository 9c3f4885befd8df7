"""What building a schedule costs: once a cell, in the parent, before anything is measured."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from streamlanes.workload import build, resolve
from timing import Note, ns_each

CALLS = 10_000


@pytest.mark.usefixtures("awake")
def test_schedule_of_steady(benchmark: BenchmarkFixture, note: Note):
    load = resolve("steady", CALLS, {})
    schedule = benchmark(build, load, CALLS)
    assert schedule.calls == CALLS
    assert schedule.tokens == CALLS * load.tokens.median
    note(tokens=schedule.tokens, ns_per_token=ns_each(benchmark, schedule.tokens))
