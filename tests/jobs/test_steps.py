"""What a step does and what it stamps."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from jobs_fakes import setting, small_schedule
from streamlanes.backends.base import drive
from streamlanes.clients.base import Into, now_ns
from streamlanes.durable.architecture import Made, StepFailed
from streamlanes.durable.state import encode
from streamlanes.jobs import steps as module
from streamlanes.jobs.retrying import Retry
from streamlanes.jobs.steps import LaneSteps, state_of
from streamlanes.lanes.executions import COLUMNS
from streamlanes.samples import ORIGIN, Outcome, Table, call_columns, lane_columns, schedule_columns

CALLS = 2


class Client:
    """Ends each call as it is told."""

    def __init__(self, *hows: Outcome) -> None:
        self._hows = iter(hows)

    async def stream(self, into: Into) -> None:
        into.end(next(self._hows), now_ns())


@pytest.fixture
def tabled() -> Iterator[tuple[Table, Table]]:
    plan = small_schedule(CALLS)
    timetable = Table.create("schedule", schedule_columns(plan.calls, plan.tokens))
    np.asarray(timetable["first"])[:] = plan.first
    columns = (*lane_columns(COLUMNS, CALLS), ("acked_at", 4), ("ack", 4))
    samples = Table.create("calls", (*call_columns(plan.calls, plan.tokens), *columns))
    yield timetable, samples
    timetable.close()
    samples.close()


def steps(tabled: tuple[Table, Table], client: Client | None = None, **more: Any) -> LaneSteps:
    asked = {"state_bytes": 100, "limit": 3, "run_ns": None, **more}
    return LaneSteps(setting(tabled[0], calls=CALLS), tabled[1], client, **asked)


def done(coroutine: Any) -> Any:
    """What a coroutine that never yields returns."""
    found: list[Any] = []

    async def keep() -> None:
        found.append(await coroutine)

    drive(keep())
    return found[0]


def test_a_state_has_the_size_that_was_asked_for():
    for size in (32, 1024, 5000):
        assert len(encode("e", state_of(size))) == size


def test_the_last_step_says_so(tabled: tuple[Table, Table]):
    some = steps(tabled)
    assert [done(some.work(0, step)).last for step in range(3)] == [False, False, True]


def test_when_the_time_is_over_the_step_under_way_is_the_last(
    tabled: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch
):
    now = [1_000]
    monkeypatch.setattr(module, "now_ns", lambda: now[0])
    tabled[0]["header"][ORIGIN] = 1_000
    some = steps(tabled, limit=None, run_ns=500)
    assert done(some.work(0, 0)).last is False
    now[0] = 1_499
    assert done(some.work(1, 0)).last is False
    now[0] = 1_500
    assert done(some.work(0, 1)).last is True


def test_acknowledgements_are_stamped_in_a_ring(tabled: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch):
    now = [0]
    monkeypatch.setattr(module, "now_ns", lambda: now[0])
    some = steps(tabled, limit=None)
    for step in range(6):
        now[0] = 100 * step
        assert isinstance(done(some.work(1, step)), Made)
        now[0] += 7 + step
        some.kept(1, step)
    samples = tabled[1]
    assert list(samples["acked_at"]) == [411, 512, 209, 310], "the first two were overwritten"
    assert list(samples["ack"]) == [11, 12, 9, 10]
    assert (list(samples["kept"]), list(samples["first_kept"]), list(samples["last_kept"])) == (
        [0, 6],
        [0, 7],
        [0, 512],
    )
    assert list(samples["twice"]) == list(samples["again"]) == [0, 0]


def test_what_is_done_or_acknowledged_again_is_counted_apart(tabled: tuple[Table, Table]):
    some = steps(tabled)
    for step in (0, 0, 1):
        done(some.work(0, step))
    for step in (0, 1, 1, 0):
        some.kept(0, step)
    assert list(tabled[1]["again"]) == [1, 0]
    assert list(tabled[1]["twice"]) == [2, 0]
    assert list(tabled[1]["kept"]) == [2, 0]


def test_a_step_is_a_call_and_fails_with_it(tabled: tuple[Table, Table]):
    some = steps(tabled, Client(Outcome.OK, Outcome.OK, Outcome.TRUNCATED))
    assert done(some.work(0, 0)).last is False
    assert done(some.work(0, 1)).last is False
    with pytest.raises(StepFailed, match="ended as truncated"):
        done(some.work(0, 2))
    assert list(tabled[1]["outcome"]) == [0, 0], "the execution's own outcome is not its call's"


class Sleeps:
    """Waits that only note how long."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


REFUSED = Outcome.STATUS_4XX


@pytest.mark.parametrize("retry", [Retry.AT_ONCE, Retry.BACKOFF])
def test_a_call_that_was_refused_is_made_again(tabled: tuple[Table, Table], retry: Retry):
    some = steps(tabled, Client(REFUSED, REFUSED, Outcome.OK, Outcome.OK), retry=retry)
    sleeps = Sleeps()
    done(some.open(sleeps))
    assert isinstance(done(some.work(0, 0)), Made)
    assert isinstance(done(some.work(0, 1)), Made)
    assert some.facts()["calls_made"] == 4
    assert len(sleeps.seconds) == 2
    assert (sleeps.seconds == [0.0, 0.0]) == (retry is Retry.AT_ONCE)
    assert list(tabled[1]["again"]) == [0, 0], "the step was begun once"


def test_without_retry_and_for_other_failures_the_step_fails(tabled: tuple[Table, Table]):
    with pytest.raises(StepFailed, match="ended as status_4xx"):
        done(steps(tabled, Client(REFUSED)).work(0, 0))
    with pytest.raises(StepFailed, match="ended as reset"):
        done(steps(tabled, Client(Outcome.RESET), retry=Retry.AT_ONCE).work(0, 0))


def test_when_the_time_is_over_nobody_asks_again(
    tabled: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "now_ns", lambda: 2_000)
    tabled[0]["header"][ORIGIN] = 1_000
    some = steps(tabled, Client(REFUSED), limit=None, run_ns=500, retry=Retry.AT_ONCE)
    with pytest.raises(StepFailed, match="ended as status_4xx"):
        done(some.work(0, 0))


def test_bare_steps_make_no_calls(tabled: tuple[Table, Table]):
    assert "calls_made" not in steps(tabled).facts()


def test_nobody_waits_beyond_the_end_to_ask_again(
    tabled: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch
):
    now = [1_000]
    monkeypatch.setattr(module, "now_ns", lambda: now[0])
    monkeypatch.setattr(module, "wait_s", lambda retry, attempt, draw: 5.0)
    tabled[0]["header"][ORIGIN] = 1_000
    some = steps(tabled, Client(REFUSED, Outcome.OK), limit=None, run_ns=2_000_000_000, retry=Retry.BACKOFF)
    sleeps = Sleeps()
    done(some.open(sleeps))
    done(some.work(0, 0))
    assert sleeps.seconds == [2.0]
