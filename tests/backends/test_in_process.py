"""The backends' own rules, with fake jobs: every job once, none before its start, refusal reported."""

import threading
import time

import pytest

from jobs_fakes import small_schedule, tables
from streamlanes.backends import BACKENDS, Waits, default_width
from streamlanes.backends.base import Jobs, Options, Refused, drive, settings
from streamlanes.cell import load
from streamlanes.samples import ORIGIN

IN_PROCESS = [name for name, info in BACKENDS.items() if not info.processes and not info.pool_of_processes]


class Noting:
    """A job that notes when it ran and how many ran at once."""

    def __init__(self) -> None:
        self.began: dict[int, int] = {}
        self.now = self.peak = 0
        self._lock = threading.Lock()

    async def __call__(self, call: int) -> None:
        with self._lock:
            assert call not in self.began
            self.began[call] = time.perf_counter_ns()
            self.now += 1
            self.peak = max(self.peak, self.now)
        time.sleep(0.002)
        with self._lock:
            self.now -= 1


@pytest.mark.parametrize("name", IN_PROCESS)
def test_every_job_runs_once_and_not_before_its_start(name: str):
    schedule, samples = tables(small_schedule(12, arrival="ramp", ramp_s=0.05))
    noting = Noting()
    jobs = Jobs(noting, (schedule, samples), range(12))
    backend = load(BACKENDS[name].target)(jobs, Options(width=3, workers=1))
    backend.open()
    schedule["header"][ORIGIN] = time.perf_counter_ns() + 5_000_000
    backend.run()
    facts = backend.facts()
    backend.close()
    assert sorted(noting.began) == list(range(12))
    assert all(noting.began[call] >= jobs.start_ns(call) for call in range(12))
    if BACKENDS[name].bounded:
        assert noting.peak <= 3
        assert facts["width"] == 3
    schedule.close()
    samples.close()


def test_a_thread_that_is_refused_ends_the_ramp_with_the_count(monkeypatch: pytest.MonkeyPatch):
    schedule, samples = tables(small_schedule(8))
    noting = Noting()
    real = threading.Thread.start
    count = 0

    def start(self: threading.Thread) -> None:
        nonlocal count
        count += 1
        if count > 5:
            raise RuntimeError("can't start new thread")
        real(self)

    backend = load(BACKENDS["threads"].target)(
        Jobs(noting, (schedule, samples), range(8)), Options(width=0, workers=1)
    )
    backend.open()
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(Refused) as refusal:
        backend.run()
    assert refusal.value.reached == 5
    assert len(noting.began) == 5, "what had started was joined"
    assert noting.now == 0
    schedule.close()
    samples.close()


def test_a_blocking_job_that_yields_is_an_error():
    class Yields:
        def __await__(self):
            yield

    async def job() -> None:
        await Yields()

    with pytest.raises(RuntimeError, match="asynchronous client"):
        drive(job())


def test_shares_are_disjoint_and_complete():
    schedule, samples = tables(small_schedule(10))
    jobs = Jobs(Noting(), (schedule, samples), range(10))
    shares = [jobs.share(which, 3) for which in range(3)]
    assert sorted(call for share in shares for call in share.calls) == list(range(10))
    assert [len(share.calls) for share in shares] == [4, 3, 3]
    schedule.close()
    samples.close()


def test_only_bounded_backends_have_a_default_width():
    for name, info in BACKENDS.items():
        assert (default_width(name) is not None) == info.bounded
        assert info.waits in Waits


@pytest.mark.parametrize("name", IN_PROCESS)
def test_what_jobs_share_is_opened_before_the_first_and_closed_after_the_last(name: str):
    schedule, samples = tables(small_schedule(3))
    noted: list[str] = []

    async def job(call: int) -> None:
        noted.append("job")

    async def opened() -> None:
        noted.append("open")

    async def closed() -> None:
        noted.append("close")

    jobs = Jobs(job, (schedule, samples), range(3), opened, closed)
    backend = load(BACKENDS[name].target)(jobs, Options(width=3, workers=1))
    backend.open()
    assert noted == ["open"]
    backend.run()
    backend.close()
    assert noted == ["open", "job", "job", "job", "close"]
    schedule.close()
    samples.close()


def test_to_look_at_the_settings_changes_none():
    before = threading.stack_size(512 * 1024)
    try:
        assert [settings()["stack_kib"] for _ in range(2)] == [512, 512]
    finally:
        threading.stack_size(before)
