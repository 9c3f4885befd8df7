"""A real PostgreSQL in trouble: it restarts, is full, has no connection left, refuses."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import errors as pg

from points_seen import seen_at_points
from streamlanes.durable.agents.queue import AgentQueue
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Transaction, Work
from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.errors import Full, Unreachable
from streamlanes.durable.leases import _MINE, Leases
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.points import Point
from streamlanes.durable.postgres import BOUNDS_TRANSACTIONS, Postgres
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint
from streamlanes.local_postgres import VARIABLE, Local

EXECUTIONS = 8
LEASE_S = 6.0
"""Three heartbeats within: far longer than a restart, short enough to see one after it."""
WRITING = "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL"
"""Open transactions that have written something."""


@pytest.fixture
def database(server: Local, schema: str) -> Iterator[Postgres]:
    made = Postgres(server.dsn, schema=schema, connections=1)
    yield made
    made.close()


def until(what: Callable[[], bool], fine: Callable[[], bool] = lambda: True) -> None:
    end = time.monotonic() + 60
    while not what():
        assert fine()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_server_that_restarts_costs_a_worker_nothing(server: Local, schema: str):
    """Steps, effects, outbox and heartbeats all come back by themselves; nobody meets an error."""
    if server.restart is None:
        pytest.skip(f"not tested: the server of {VARIABLE} is not ours to restart")
    database = Postgres(server.dsn, schema=schema)
    worker, paid, mailed = Worker(database, lease_s=LEASE_S), Counter[str](), Counter[str]()
    names = [f"e{number}" for number in range(EXECUTIONS)]
    begun = dict.fromkeys(names, 0)
    stop, over = threading.Event(), threading.Event()

    def perform(key: str, payload: object) -> Answer:
        paid[str(payload)] += 1
        return Answer(None)

    pay = Effect("pay", perform)
    dispatcher = Dispatcher(database, worker.leases, {"mail": lambda _, text: mailed.update([text])})

    async def agent(state: object, step: Step) -> object:
        begun[step.thread_id] = step.number
        await step.call(pay, f"{step.thread_id}/{step.number}")
        step.send("mail", f"{step.thread_id}/{step.number}")
        return Last(step.number) if stop.is_set() else step.number

    def dispatch() -> None:
        lock = dispatcher.lock(worker.owner, LEASE_S)
        assert lock is not None
        worker.heart.hold(lock)
        while dispatcher.send_due(lock) or not over.is_set():
            time.sleep(0.01)
        worker.heart.drop(lock)

    def ends() -> dict[str, float]:
        """When each lease would lapse."""
        return dict(database.read("SELECT thread_id, expires FROM executions WHERE token <> ''", {}))

    with ThreadPoolExecutor(EXECUTIONS + 1) as pool:
        sending = pool.submit(dispatch)
        runs = [pool.submit(run_with_checkpoint, agent, name, worker) for name in names]
        going = [sending, *runs]

        def fine() -> bool:
            return not any(each.done() for each in going)

        try:
            until(lambda: min(begun.values()) > 3 and len(mailed) > 0, fine)
            server.restart()
            then, sent, lapse = dict(begun), len(mailed), ends()
            until(lambda: all(begun[name] > then[name] + 5 for name in names), fine)
            until(lambda: len(mailed) > sent, fine)
            until(lambda: all(found > lapse[name] for name, found in ends().items()), fine)
        finally:
            stop.set()
            last = [run.result() for run in runs]
            over.set()
        sending.result()
    done = [f"{name}/{step}" for name, number in zip(names, last, strict=True) for step in range(number + 1)]
    for name, number in zip(names, last, strict=True):
        assert [one.step for one in worker.store.history(name)] == list(range(number + 1))
    assert paid == mailed == Counter(done), "each once"
    assert dispatcher.counts() == {"sent": len(done)}
    assert database.counts.retried > 0
    worker.close()
    database.close()


def test_a_full_disk_is_named_and_costs_the_others_of_its_group_nothing(database: Postgres):
    gate = threading.Event()
    holding = database.submit(Work(None, lambda _: gate.wait(30)))

    def full(_: Transaction) -> None:
        raise pg.DiskFull("could not extend file: No space left on device")

    bad, good = database.submit(Work("a", full)), Leases(database).create("b")
    gate.set()
    assert holding.result() is True
    with pytest.raises(Full, match=r"execution a: .* has no room \(could not extend .*\); make room on the"):
        bad.result()
    assert good.result() is True


@contextmanager
def held(database: Postgres) -> Iterator[None]:
    """The only connection is somebody's for the block."""
    with database._pool.connection():
        yield


def test_connections_that_are_all_in_use_are_named(database: Postgres):
    database._patience_s = 0.2
    with held(database), pytest.raises(Unreachable, match=r"all 1 connections to .* were in use for 0\.2 s"):
        Leases(database).create("a").result()
    assert Leases(database).create("a").result() is True


def test_what_the_server_refuses_is_named(database: Postgres):
    database._patience_s = 0.2

    def slow(transaction: Transaction) -> None:
        transaction.run("SET LOCAL statement_timeout = 10", {})
        transaction.run("SELECT pg_sleep(10)", {})

    with pytest.raises(Unreachable, match=r"execution a: .* refused it for 0\.2 s \(canceling statement"):
        database.submit(Work("a", slow)).result()
    assert Leases(database).create("a").result() is True


def test_what_a_read_waits_for_is_not_counted_as_the_writers(database: Postgres):
    before = database.counts.waiting_ns
    with ThreadPoolExecutor(1) as pool:
        with held(database):
            reading = pool.submit(Checkpoints(database).latest, "a")
            with pytest.raises(TimeoutError):
                reading.result(0.1)
        assert reading.result() is None
    assert database.counts.waiting_ns == before


def test_a_group_is_unseen_in_its_commit_and_untold_after_it(server: Local, schema: str, database: Postgres):
    with psycopg.connect(server.dsn, autocommit=True) as other:

        def rows() -> int:
            found = other.execute(f"SELECT count(*) FROM {schema}.checkpoints".encode()).fetchone()
            assert found is not None
            return int(found[0])

        seen = seen_at_points(database, rows)
    assert seen == {Point.IN_COMMIT: (0, False), Point.AFTER_COMMIT: (1, False)}


def test_two_that_enroll_at_once_give_a_group_one_admin(
    server: Local, schema: str, monkeypatch: pytest.MonkeyPatch
):
    """They have no agent in common, so that no row would make one wait for the other."""
    one, other = Postgres(server.dsn, schema=schema), Postgres(server.dsn, schema=schema)
    gate, writer = threading.Event(), one._group._thread

    def reach(point: Point) -> None:
        if point is Point.IN_COMMIT and threading.current_thread() is writer:
            gate.wait(2)

    monkeypatch.setattr("streamlanes.durable.postgres.reach", reach)
    first = AgentQueue(one).enroll({"team": ["a0", "a1"]})
    time.sleep(0.2)  # it has written by then, as a rule; where it has not, the other is first
    second = AgentQueue(other).enroll({"team": ["b0", "b1"]})
    time.sleep(0.2)
    gate.set()
    enrolled = [each.exception(30) for each in (first, second)]
    assert sorted(type(each).__name__ for each in enrolled) == ["AgentError", "NoneType"]
    assert sum(AgentQueue(one).tally().agents.values()) == 2
    one.close()
    other.close()


@pytest.mark.parametrize("bounds", [BOUNDS_TRANSACTIONS, 10**9], ids=["bounds", "as if older"])
def test_a_worker_that_stops_in_its_commit_keeps_nobody_for_long(
    server: Local, schema: str, monkeypatch: pytest.MonkeyPatch, bounds: int
):
    """The server ends its transaction. What a pipeline sent last used to stop that clock, one time in six."""
    monkeypatch.setattr("streamlanes.durable.postgres.BOUNDS_TRANSACTIONS", bounds)
    monkeypatch.setattr("streamlanes.durable.postgres.IDLE_S", 0.2)
    stopped, other = Postgres(server.dsn, schema=schema), Postgres(server.dsn, schema=schema)
    gate = threading.Event()
    writer = stopped._group._thread

    def reach(point: Point) -> None:
        if point is Point.IN_COMMIT and threading.current_thread() is writer:
            gate.wait(60)

    monkeypatch.setattr("streamlanes.durable.postgres.reach", reach)
    for number in range(20):
        gate.clear()
        held = Leases(stopped).create(f"e{number}")
        time.sleep(0.02)
        assert Leases(other).create(f"e{number}").result(30)
        gate.set()
        assert not held.result(30), "it began again, and found the other's"
    stopped.close()
    other.close()


def test_a_worker_that_stops_within_a_pipeline_keeps_nobody_for_long(
    server: Local, schema: str, monkeypatch: pytest.MonkeyPatch
):
    """Between its statements and their Sync the server does not count it as idle in its transaction."""
    monkeypatch.setattr("streamlanes.durable.postgres.IDLE_S", 2.0)
    stopped, other = Postgres(server.dsn, schema=schema), Postgres(server.dsn, schema=schema)
    within, gate = threading.Event(), threading.Event()
    text = stopped._text

    def stop_before(template: str) -> bytes:
        if template == _MINE:  # behind the claim, whose row it holds then
            within.set()
            gate.wait(60)
        return text(template)

    monkeypatch.setattr(stopped, "_text", stop_before)
    held = Leases(stopped).claim("e", "one")
    assert within.wait(30)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        until(lambda: connection.execute(WRITING).fetchone() == (1,))
    assert Leases(other).claim("e", "other").result(30), "it was let go while the first still stood"
    assert not gate.is_set()
    gate.set()
    assert held.result(30) is None, "it began again, and found the other's"
    assert stopped.counts.retried >= 1
    stopped.close()
    other.close()


def test_work_behind_a_pipeline_may_take_its_time(
    server: Local, schema: str, monkeypatch: pytest.MonkeyPatch
):
    """What bounds the pipeline of its group is taken away before it."""
    monkeypatch.setattr("streamlanes.durable.postgres.IDLE_S", 2.0)
    database = Postgres(server.dsn, schema=schema, connections=1, patience_s=30)
    settings: list[str] = []

    def slow(transaction: Transaction) -> int:
        settings.append(transaction.run("SELECT current_setting('transaction_timeout')", {}).rows[0][0])
        for _ in range(8):  # never idle for long
            transaction.run("SELECT pg_sleep(0.4)", {})
        return 8

    with held(database):
        first = Leases(database).create("first")  # the writer waits with it, and takes both others then
        time.sleep(0.1)
        created, worked = Leases(database).create("e"), database.submit(Work("e", slow))
    assert [each.result(30) for each in (first, created, worked)] == [True, True, 8]
    assert settings == ["0"], "and it was not begun again"
    assert database.counts.largest >= 2
    database.close()
