"""The store on a real PostgreSQL: all that a store must do, a server that restarts, kills."""

import json
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
import typer

from commands import run
from durable_checks.agents import AgentChecks
from durable_checks.caps import CapChecks
from durable_checks.divergences import DivergenceChecks
from durable_checks.logs import LogChecks
from durable_checks.people import PeopleChecks
from durable_checks.replays import ReplayChecks
from durable_checks.runs import RunChecks
from durable_checks.stores import StoreChecks
from durable_checks.versions import VersionChecks
from durable_ledgers import LEDGER, NEW_LEDGER, OLD_ATTEMPTS, OLD_LEDGER
from durable_rows import claimed, row
from streamlanes import durable_logs
from streamlanes.cells import Axes, Cell
from streamlanes.chaos.cell import strike
from streamlanes.durable import postgres as module
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Transaction, Work
from streamlanes.durable.errors import Forked, LeaseLost, NewerVersion, Unreachable
from streamlanes.durable.leases import Leases
from streamlanes.durable.opening import open_database
from streamlanes.durable.postgres import Postgres
from streamlanes.durable.values import Checkpoint, Message
from streamlanes.durable.versions import Versions
from streamlanes.errors import UserError
from streamlanes.local_postgres import VARIABLE, Local
from streamlanes.named_store import opened


@pytest.fixture
def database(server: Local, schema: str) -> Iterator[Postgres]:
    made = Postgres(server.dsn, schema=schema)
    yield made
    made.close()


class TestPostgres(StoreChecks, RunChecks, PeopleChecks, VersionChecks, CapChecks):
    """See durable_checks."""


class TestReplay(ReplayChecks, DivergenceChecks, LogChecks):
    """See durable_checks."""


class TestAgents(AgentChecks):
    """See AgentChecks."""


def test_waiting_for_a_connection_is_a_phase_of_its_own(server: Local, schema: str):
    database = Postgres(server.dsn, schema=schema, connections=1)
    reading, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with database._pool.connection():
            reading.set()
            go_on.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert reading.wait(30)
    before = database.counts.waiting_ns
    created = Leases(database).create("a")
    with pytest.raises(TimeoutError):
        created.result(0.2)
    go_on.set()
    assert created.result() is True
    holder.join()
    assert database.counts.waiting_ns - before >= 200_000_000
    database.close()


def test_updates_across_a_lost_connection_are_made_once(server: Local, schema: str):
    """The connection is cut in the middle of groups; each update is retried, and none is made twice."""
    database = Postgres(server.dsn, schema=schema)
    store, lease = Checkpoints(database), claimed(database)
    made: list[Future[Checkpoint]] = []
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    with psycopg.connect(server.dsn, autocommit=True) as other:
        for _ in range(20):
            made += [
                store.update(lease, lambda state: json.dumps(json.loads(state or b"0") + 1).encode())
                for _ in range(50)
            ]
            other.execute(cut)
    assert sorted(one.result().step for one in made) == list(range(1000))
    latest = store.latest("a")
    assert latest is not None
    assert latest.state == b"1000"
    database.close()


def test_a_group_that_stands_still_is_cut_off_by_the_server_and_carried_out_again(
    server: Local, schema: str, monkeypatch: pytest.MonkeyPatch
):
    """So a worker that is stopped in the middle of a commit does not keep its rows from the others."""
    monkeypatch.setattr(module, "IDLE_S", 0.2)
    database = Postgres(server.dsn, schema=schema)
    stood = []

    def stand_still(transaction: Transaction) -> int:
        stood.append(transaction.run("SELECT 1", {}))
        if len(stood) == 1:
            time.sleep(1.0)
        return len(stood)

    assert database.submit(Work(None, stand_still)).result() == 2
    assert database.counts.retried == 1
    database.close()


SLOW_MAIL = """CREATE FUNCTION {0}.slowly() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN PERFORM pg_sleep(0.6); RETURN NEW; END $$;
CREATE TRIGGER slowly BEFORE INSERT ON {0}.outbox FOR EACH ROW EXECUTE FUNCTION {0}.slowly()"""


def test_a_last_step_whose_lease_lapses_within_its_own_commit_ends_the_execution(
    server: Local, schema: str, database: Postgres
):
    """The server's clock goes on between the append and the end of the execution: both are, or neither."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(SLOW_MAIL.format(schema).encode())
    store, lease, mail = Checkpoints(database), claimed(database, lease_s=0.5), Message("k", "mail", "hello")
    said = store.append(lease, row(0, "a", b"{}", mail), last=True).exception()
    assert said is None or isinstance(said, LeaseLost)
    assert (Leases(database).status("a") == "done") == (said is None)


def test_a_newer_schema_and_a_fork_are_refused(server: Local, schema: str, database: Postgres):
    database._pid = 0
    with pytest.raises(Forked, match="open the store again in each process"):
        Checkpoints(database).latest("a")
    database._pid = os.getpid()
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"UPDATE {schema}.tables SET version = 99".encode())
    with pytest.raises(NewerVersion, match="tables of version 99"):
        Postgres(server.dsn, schema=schema)


def test_no_server_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "OPENING_S", 0.2)
    dsn = "postgresql://me:secret@127.0.0.1:1/x"
    with pytest.raises(
        Unreachable, match=r"no PostgreSQL at 127\.0\.0\.1:1/x .*; start it, or name another"
    ) as no:
        open_database(dsn)
    assert "secret" not in str(no.value)


def test_a_cell_of_lane_chaos_says_that_there_is_no_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "postgresql://me:secret@127.0.0.1:1/x")
    monkeypatch.setattr(module, "OPENING_S", 0.2)
    axes = Axes(store="postgres", kills=1)
    asked = Cell(lane="chaos", backend="threads", client="none", workload="documents", calls=1, axes=axes)
    with pytest.raises(UserError, match=r"no PostgreSQL at 127\.0\.0\.1:1/x .*STREAMLANES_POSTGRES_DSN"):
        strike(asked)


def test_kills_lose_nothing(server: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, server.dsn)
    done = run("durable", "chaos", "--kills", "2", "--store", "postgres", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = json.loads(done.stdout.splitlines()[-1])["verdict"]
    assert (verdict["kills"], verdict["passed"]) == (2, True)


def test_a_schema_of_an_older_version_is_brought_up_to_this_one(server: Local, schema: str):
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for statement in (
            f"CREATE SCHEMA {schema}",
            f"CREATE TABLE {schema}.tables (version BIGINT NOT NULL)",
            f"INSERT INTO {schema}.tables VALUES (1)",
            f"CREATE TABLE {schema}.executions (thread_id TEXT PRIMARY KEY, status TEXT NOT NULL, "
            "owner TEXT NOT NULL, token TEXT NOT NULL, epoch BIGINT NOT NULL, "
            "expires DOUBLE PRECISION NOT NULL, lease_s DOUBLE PRECISION NOT NULL)",
            f"INSERT INTO {schema}.executions VALUES ('a', 'open', '', '', 3, 0, 0)",
            OLD_ATTEMPTS.format(f"{schema}.attempts", "DOUBLE PRECISION"),
            OLD_LEDGER.format(f"{schema}.attempts"),
        ):
            connection.execute(statement.encode())
    for _ in range(2):
        database = Postgres(server.dsn, schema=schema)
        assert Leases(database).version("a") == 1
        assert list(database.read(LEDGER, {})) == NEW_LEDGER
        database.close()
    database = Postgres(server.dsn, schema=schema)
    found = Leases(database).claim("a", "w", 600.0).result()
    assert found is not None
    assert found.lease.epoch == 4
    database.close()


def test_shares_that_are_given_at_once_do_not_overlap(server: Local, schema: str, database: Postgres):
    """The first has written and not yet committed when the second begins."""
    other = Postgres(server.dsn, schema=schema)
    wrote, go_on = threading.Event(), threading.Event()
    share = Versions(SimpleNamespace(submit=lambda work: work)).share({1: 0.5, 2: 0.5})

    def slow(transaction: Transaction) -> None:
        share.do(transaction)
        wrote.set()
        go_on.wait(30)

    first = database.submit(Work(None, slow))
    assert wrote.wait(30)
    second = Versions(other).share({3: 1.0})
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    while not second.done() and list(database.read(waiting, {})) == [(0,)]:
        pass
    go_on.set()
    first.result()
    second.result()
    parts = database.read("SELECT version, starts, ends FROM versions ORDER BY version", {})
    assert list(parts) == [(1, 0.0, 0.0), (2, 0.0, 0.0), (3, 0.0, 1.0)]
    assert Leases(other).create("a").result()
    other.close()


def test_what_is_no_store_is_left_as_it_is(server: Local, schema: str):
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        connection.execute(f"CREATE TABLE {schema}.executions (id BIGINT)".encode())
        for name in (schema, f"{schema}_none"):
            says = rf"^schema {name} of .* is no store of streamlanes; name its schema with --schema$"
            with pytest.raises(UserError, match=says), opened(server.dsn, name):
                pass
        of = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema LIKE %s"
        assert connection.execute(of, (f"{schema}%",)).fetchall() == [(schema, "executions")]


@pytest.mark.parametrize("name", ["a schema of another name", 'Ours, "quoted" \\'])
def test_a_store_in_any_schema_is_made_and_found(
    server: Local, name: str, capsys: pytest.CaptureFixture[str]
):
    with opened(server.dsn, name, make=True) as database:
        assert Leases(database).create("a").result()
    with opened(server.dsn, name) as database:
        assert Leases(database).status("a") == "open"
    with pytest.raises(typer.Exit) as end:
        durable_logs.audit(db=server.dsn, schema=name)
    assert end.value.exit_code == 0
    assert "ANSWER  1 executions" in capsys.readouterr().out
    server.drop(name)
