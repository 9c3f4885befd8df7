"""Backends with processes of their own, really run: what jobs share is opened and closed in each of them."""

import os
import time
from collections import defaultdict
from pathlib import Path

import pytest

from jobs_fakes import NotingJob, small_schedule, tables
from streamlanes.backends import BACKENDS
from streamlanes.backends.base import Jobs, Options
from streamlanes.cell import load
from streamlanes.samples import ORIGIN

# As a test run has threads; 3.12 and later say so.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

CALLS = 5
OF_PROCESSES = [name for name, info in BACKENDS.items() if info.processes or info.pool_of_processes]


@pytest.mark.parametrize(
    ("name", "method"),
    [*((name, "fork") for name in OF_PROCESSES), ("process-pool", "spawn"), ("processes+asyncio", "spawn")],
)
def test_every_process_opens_before_its_first_job_and_closes_after_its_last(
    name: str, method: str, tmp_path: Path
):
    schedule, samples = tables(small_schedule(CALLS))
    job = NotingJob(tmp_path / "noted")
    jobs = Jobs(job, (schedule, samples), range(CALLS), job.open, job.close)
    backend = load(BACKENDS[name].target)(jobs, Options(width=2, workers=2, start_method=method))
    backend.open()
    schedule["header"][ORIGIN] = time.perf_counter_ns()
    backend.run()
    backend.close()
    noted: dict[str, list[str]] = defaultdict(list)
    for line in (tmp_path / "noted").read_text().splitlines():
        process, what = line.split()
        noted[process].append(what)
    assert len(noted) == 2
    assert str(os.getpid()) not in noted
    for said in noted.values():
        assert (said[0], said[-1]) == ("open", "close")
        assert {"open", "close"}.isdisjoint(said[1:-1])
    done = [int(what) for said in noted.values() for what in said[1:-1]]
    assert sorted(done) == list(range(CALLS))
    schedule.close()
    samples.close()
