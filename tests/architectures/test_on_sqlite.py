"""The architectures that SQLite is enough for, and what each has of its own."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from architecture_checks import ArchitectureChecks, Steps, carried, grounds
from streamlanes.architectures.actors import Actors
from streamlanes.architectures.claims import Claims
from streamlanes.architectures.queue import Queue
from streamlanes.durable.architecture import Architecture, Grounds, Made
from streamlanes.durable.architectures import ARCHITECTURES, open_architecture
from streamlanes.durable.looping import Looping
from streamlanes.durable.sqlite import SQLite, Synchronous


@pytest.fixture(params=[name for name, info in ARCHITECTURES.items() if "sqlite" in info.stores])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[int], Architecture]:
    return lambda count: open_architecture(request.param, grounds(str(tmp_path / "s.db"), count))


class TestOnSQLite(ArchitectureChecks):
    """See ArchitectureChecks."""


@pytest.fixture
def claims(tmp_path: Path) -> Iterator[Claims]:
    database = SQLite(tmp_path / "q.db", synchronous=Synchronous.NORMAL)
    made = Claims(database)
    made.lay().result()
    yield made
    database.close()


def test_a_job_is_one_consumers_until_its_claim_lapses(claims: Claims):
    assert claims.put(7).result()
    assert not claims.put(7).result()
    (first,) = claims.claim(5, 600.0).result()
    assert (first.execution, first.step, first.times) == (7, 0, 1)
    assert claims.claim(5, 600.0).result() == []
    (lapsed,) = _after_a_lapse(claims, 8)
    assert (lapsed.execution, lapsed.times) == (8, 2)


def _after_a_lapse(claims: Claims, execution: int) -> list:
    claims.put(execution).result()
    assert len(claims.claim(1, -1.0).result()) == 1  # a claim that has lapsed already
    return claims.claim(1, 600.0).result()


def test_a_job_that_was_delivered_twice_is_consumed_once(claims: Claims):
    claims.put(7).result()
    (slow,) = claims.claim(1, -1.0).result()
    (quick,) = claims.claim(1, 600.0).result()
    assert (slow.step, quick.step, quick.times) == (0, 0, 2)
    assert claims.consume(quick, b"quick", last=False).result()
    assert not claims.consume(slow, b"slow", last=False).result()
    assert claims.consume(quick, b"quick", last=False).result(), "asked again, its answer lost"
    assert claims.state(7) == (0, b"quick")
    (after,) = claims.claim(9, 600.0).result()
    assert (after.step, after.times) == (1, 1), "one next job, whoever asked"
    assert claims.consume(after, b"last", last=True).result()
    assert not claims.consume(slow, b"slow", last=False).result()
    assert claims.state(7) == (1, b"last")
    assert (claims.waiting(), dict(claims.consumed())) == (0, {7: 2})
    assert claims.state(8) is None


def test_what_a_dead_process_had_claimed_is_done_by_another(tmp_path: Path):
    """The first process is stopped in the middle of every step that it has."""
    where = grounds(str(tmp_path / "s.db"), 3)

    stopped = []

    class Stuck(Steps):
        async def work(self, execution: int, step: int) -> Made:
            if step == 1:
                stopped.append(execution)
                await asyncio.Event().wait()
            return await super().work(execution, step)

    async def die() -> None:
        first = Queue(where, visible_s=0.5)
        first.open()
        await first.start(Stuck([3, 3, 3]), Looping())
        runs = [asyncio.create_task(first.run(number)) for number in range(3)]
        while len(stopped) < 3:
            await asyncio.sleep(0.001)
        await first.stop()
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        first.close()

    asyncio.run(die())
    assert sorted(stopped) == [0, 1, 2]
    steps = Steps([3, 3, 3])
    found = carried(Queue(where), steps)
    assert found.errors == [None] * 3
    assert steps.kept_steps == {number: [1, 2] for number in range(3)}
    assert set(steps.begun) == {(number, step) for number in range(3) for step in (1, 2)}
    assert found.facts["redelivered"] == 3
    assert dict(found.left) == dict.fromkeys(range(3), 3)


def test_the_claim_of_a_job_whose_step_is_longer_is_renewed(tmp_path: Path):
    """The clock of the store goes on only within the step: three claims long, and half of one at a time."""
    now_s, visible_s = [1000.0], 0.06

    class Clocked(Grounds):
        def open_database(self) -> SQLite:
            return SQLite(self.where, synchronous=Synchronous.NORMAL, clock=lambda: now_s[0])

    where = Clocked(
        where=str(tmp_path / "s.db"), executions=2
    )  # so that there is a place for who would claim it again

    def left_s() -> float:
        with closing(sqlite3.connect(where.where)) as read:
            ((due,),) = read.execute("SELECT due FROM queue_jobs").fetchall()
        return due - now_s[0]

    class Long(Steps):
        async def work(self, execution: int, step: int) -> Made:
            for _ in range(6 if step == 1 else 0):
                now_s[0] += visible_s / 2
                for _ in range(1000):  # a second or so, where nobody renews it
                    if left_s() > 0.75 * visible_s:
                        break
                    await asyncio.sleep(0.001)
            return await super().work(execution, step)

    steps = Long([3])
    found = carried(Queue(where, visible_s=visible_s, poll_s=0.01), steps)
    assert steps.begun == {(0, 0): 1, (0, 1): 1, (0, 2): 1}
    assert found.facts["redelivered"] == 0


def test_a_claim_is_renewed_by_whoever_has_it(claims: Claims):
    claims.put(7).result()
    (lapsed,) = claims.claim(1, -1.0).result()
    claims.renew([lapsed], 600.0).result()
    assert claims.claim(1, 600.0).result() == [], "it was nobody else's yet"
    claims.renew([lapsed], -1.0).result()
    (now,) = claims.claim(1, -1.0).result()
    claims.renew([lapsed], 600.0).result()
    (after,) = claims.claim(1, 600.0).result()
    assert (now.times, after.times) == (2, 3)


def test_actors_are_two_agents_an_execution_and_three_transactions_a_step(tmp_path: Path):
    found = carried(Actors(grounds(str(tmp_path / "s.db"), 2)), Steps([4, 4]))
    assert found.facts["wakes"] == 8
    assert found.facts["requests"] >= 3 * 8
