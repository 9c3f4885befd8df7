"""The heartbeat: what it renews, what it finds, and that work cannot starve it."""

import asyncio
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from durable_rows import lapse
from streamlanes.durable.errors import Closed, LeaseLost
from streamlanes.durable.heart import Heart
from streamlanes.durable.running import (
    Last,
    Step,
    Worker,
    run_with_checkpoint,
    run_with_checkpoint_async,
)
from streamlanes.durable.sqlite import SQLite
from streamlanes.durable.values import Lease

LEASE = Lease("a", "w", "t", 1, 0.03)


class FakeLeases:
    """Leases as the heart sees them."""

    def __init__(self, *answers: "Future[bool]") -> None:
        self.answers = list(answers)
        self.beats: list[str] = []

    def beat(self, lease: Lease) -> "Future[bool]":
        self.beats.append(lease.token)
        return self.answers.pop(0) if self.answers else answered(True)


def answered(value: bool) -> "Future[bool]":
    future: Future[bool] = Future()
    future.set_result(value)
    return future


def until(what: object) -> None:
    end = time.monotonic() + 30
    while not what():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_it_renews_what_is_held_and_nothing_else():
    leases = FakeLeases()
    heart = Heart(leases, 0.03)
    heart.hold(LEASE)
    until(lambda: len(leases.beats) >= 3)
    heart.drop(LEASE)
    heart.close()
    assert set(leases.beats) == {"t"}
    assert not heart.lost(LEASE)


def test_a_lease_that_is_lost_is_found_and_renewed_no_more():
    leases = FakeLeases(answered(True), answered(False))
    heart = Heart(leases, 0.03)
    heart.hold(LEASE)
    until(lambda: heart.lost(LEASE))
    heart.close()
    assert len(leases.beats) == 2


def test_an_answer_that_does_not_come_is_no_verdict():
    away: Future[bool] = Future()
    away.set_exception(OSError("away"))
    leases = FakeLeases(away, answered(True))
    heart = Heart(leases, 0.03)
    heart.hold(LEASE)
    until(lambda: len(leases.beats) >= 2)
    heart.close()
    assert not heart.lost(LEASE)


def test_an_answer_that_is_late_holds_up_no_other_and_is_asked_for_once():
    late: Future[bool] = Future()

    class Slow(FakeLeases):
        def beat(self, lease: Lease) -> "Future[bool]":
            super().beat(lease)
            return late if lease.token == "t" else answered(self.beats.count("u") < 3)

    leases, other = Slow(), Lease("b", "w", "u", 1, 0.03)
    heart = Heart(leases, 0.03)
    heart.hold(LEASE)
    heart.hold(other)
    until(lambda: heart.lost(other))
    assert not heart.lost(LEASE)
    assert (leases.beats.count("t"), leases.beats.count("u")) == (1, 3)
    late.set_result(False)
    until(lambda: heart.lost(LEASE))
    heart.close()


def test_a_store_that_was_closed_ends_it_without_a_word():
    class Gone(FakeLeases):
        def beat(self, lease: Lease) -> "Future[bool]":
            super().beat(lease)
            raise Closed("a", "its store is closed", "open the store again")

    leases = Gone()
    heart = Heart(leases, 0.03)
    heart.hold(LEASE)
    until(lambda: not heart._thread.is_alive())
    heart.close()
    assert leases.beats == ["t"]


def busy(state: object, seconds: float) -> object:
    """Work that computes, and gives the interpreter to nobody by itself."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return state


@pytest.mark.parametrize("loop", [False, True], ids=["thread", "event loop"])
def test_a_step_that_computes_longer_than_the_lease_keeps_it(tmp_path: Path, loop: bool):
    database = SQLite(tmp_path / "s.db")
    worker = Worker(database, lease_s=0.8)

    async def agent(state: object, step: Step) -> object:
        return Last(busy(1, 1.5))

    if loop:
        assert asyncio.run(run_with_checkpoint_async(agent, "a", worker)) == 1
    else:
        assert run_with_checkpoint(agent, "a", worker) == 1
    (only,) = worker.store.history("a")
    assert only.epoch == 1
    worker.close()
    database.close()


def test_a_worker_that_lost_its_lease_goes_no_further(tmp_path: Path):
    database = SQLite(tmp_path / "s.db")
    worker = Worker(database, lease_s=0.06)
    steps = []

    async def agent(state: object, step: Step) -> object:
        steps.append(step.number)
        if step.number == 1:
            lapse(database, "a")
            until(lambda: worker.heart._lost)  # the heart found out, before the step's own write does
        return step.number

    with pytest.raises(LeaseLost):
        run_with_checkpoint(agent, "a", worker)
    assert steps == [0, 1]
    assert [one.step for one in worker.store.history("a")] == [0]
    worker.close()
    database.close()
