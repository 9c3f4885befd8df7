"""The points where chaos strikes: the code passes each, at the moment that its name says."""

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from points_seen import seen_at_points
from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.heart import Heart
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.points import Point, watch
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.values import Lease


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLite]:
    made = SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL)
    yield made
    watch(None)
    made.close()


def test_a_group_is_unseen_in_its_commit_and_untold_after_it(database: SQLite):
    other = sqlite3.connect(database.path, check_same_thread=False)

    def rows() -> int:
        (count,) = other.execute("SELECT count(*) FROM checkpoints").fetchone()
        return int(count)

    seen = seen_at_points(database, rows)
    other.close()
    assert seen == {Point.IN_COMMIT: (0, False), Point.AFTER_COMMIT: (1, False)}


def test_a_step_passes_its_points_in_their_order(database: SQLite):
    worker, mine, passed, done = Worker(database, lease_s=600.0), threading.current_thread(), [], []
    effect = Effect("pay", lambda key, payload: done.append(payload) or Answer(None))

    def look(point: Point) -> None:
        if threading.current_thread() is mine:
            passed.append((point, len(done), len(worker.store.history("a"))))

    async def agent(state: object, step: Step) -> object:
        await step.call(effect, 1)
        return Last(None)

    watch(look)
    run_with_checkpoint(agent, "a", worker)
    worker.close()
    assert passed == [
        (Point.BEFORE_EFFECT, 0, 0),
        (Point.AFTER_EFFECT, 1, 0),
        (Point.BEFORE_CHECKPOINT, 1, 0),
        (Point.AFTER_CHECKPOINT, 1, 1),
    ]


def test_a_message_is_delivered_and_not_noted_after_its_sending(database: SQLite):
    worker, sent, passed = Worker(database, lease_s=600.0), [], []
    dispatcher = Dispatcher(database, worker.leases, {"mail": lambda key, text: sent.append(text)})

    async def agent(state: object, step: Step) -> object:
        step.send("mail", "hello")
        return Last(None)

    run_with_checkpoint(agent, "a", worker)
    lock = dispatcher.lock("w", 600.0)
    assert lock is not None

    def look(point: Point) -> None:
        if point is Point.AFTER_SEND:
            passed.append((list(sent), dispatcher.counts()))

    watch(look)
    assert dispatcher.send_due(lock) == 1
    watch(None)
    worker.close()
    assert passed == [(["hello"], {"waiting": 1})]
    assert dispatcher.counts() == {"sent": 1}


class Beaten:
    """Leases that are always renewed."""

    def __init__(self) -> None:
        self.times = 0

    def beat(self, lease: Lease) -> "Future[bool]":
        self.times += 1
        answer: Future[bool] = Future()
        answer.set_result(True)
        return answer


def test_a_lease_is_about_to_be_renewed_in_a_heartbeat():
    leases, passed, twice = Beaten(), [], threading.Event()

    def look(point: Point) -> None:
        passed.append((point, leases.times))
        if len(passed) == 2:
            twice.set()

    watch(look)
    heart = Heart(leases, 0.03)
    heart.hold(Lease("a", "w", "t", 1, 0.03))
    assert twice.wait(30)
    heart.close()
    watch(None)
    assert passed[:2] == [(Point.IN_HEARTBEAT, 0), (Point.IN_HEARTBEAT, 1)]
