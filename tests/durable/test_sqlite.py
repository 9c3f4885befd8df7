"""The store on SQLite: all that a store must do, and what is SQLite's own."""

import multiprocessing
import os
import pickle
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from pathlib import Path

import pytest

from durable_checks.caps import CapChecks
from durable_checks.people import PeopleChecks
from durable_checks.runs import RunChecks
from durable_checks.stores import StoreChecks
from durable_checks.versions import VersionChecks
from durable_claimer import claim_until_none_is_left
from durable_rows import (
    LEDGER,
    NEW_LEDGER,
    OLD_ATTEMPTS,
    OLD_CHECKPOINTS,
    OLD_LEDGER,
    claimed,
    row,
)
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database, Work
from streamlanes.durable.errors import (
    Corrupt,
    DurableError,
    Forked,
    Full,
    NewerVersion,
    StateError,
    Unreachable,
)
from streamlanes.durable.leases import Leases
from streamlanes.durable.opening import open_database
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.values import Checkpoint


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLite]:
    made = SQLite(tmp_path / "store.db", synchronous=Synchronous.NORMAL)
    yield made
    made.close()


class TestSQLite(StoreChecks, RunChecks, PeopleChecks, VersionChecks, CapChecks):
    """See durable_checks."""


def test_it_waits_for_the_disk_unless_told_otherwise(tmp_path: Path):
    full, normal = SQLite(tmp_path / "f.db"), SQLite(tmp_path / "n.db", synchronous=Synchronous.NORMAL)
    found = [
        one.submit(Work(None, lambda tx: tx.run("PRAGMA synchronous", {}).rows)).result()
        for one in (full, normal)
    ]
    assert found == [[(2,)], [(1,)]]
    assert (full.durability, normal.durability) == ("sqlite-full", "sqlite-normal")
    full.close()
    normal.close()


def test_without_group_commit_each_request_has_its_own(tmp_path: Path):
    database = SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL, group=1)
    store, lease = Checkpoints(database), claimed(database)
    before = database.counts.commits
    wait([store.append(lease, row(step)) for step in range(20)])
    assert (database.counts.commits - before, database.counts.largest) == (20, 1)
    database.close()


def test_nobody_is_answered_before_the_commit(tmp_path: Path):
    database = SQLite(tmp_path / "s.db")
    store, lease = Checkpoints(database), claimed(database)
    other = sqlite3.connect(tmp_path / "s.db", check_same_thread=False)
    seen: list[tuple[int, int]] = []

    def look(future: "Future[Checkpoint]") -> None:
        (count,) = other.execute("SELECT count(*) FROM checkpoints").fetchone()
        seen.append((future.result().step, count))

    futures = [store.append(lease, row(step)) for step in range(50)]
    for future in futures:
        future.add_done_callback(look)
    wait(futures)
    database.close()
    assert sorted(step for step, _ in seen) == list(range(50))
    assert all(count > step for step, count in seen), "its own row was there for others to see"
    other.close()


def test_two_processes_worth_of_writers_wait_for_each_other(tmp_path: Path):
    """Two stores on one file are two writers: a busy file is waited for and counted, never an error."""
    databases = [SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL) for _ in range(2)]
    held = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        held[0].set()
        held[1].wait(30)

    holding = databases[0].submit(Work(None, hold))
    assert held[0].wait(30)
    waiting = Leases(databases[1]).create("a")
    while not databases[1].counts.locked:
        pass
    assert not waiting.done()
    held[1].set()
    holding.result()
    assert waiting.result() is True
    for each in databases:
        each.close()


def test_a_file_that_is_kept_for_too_long_is_named(tmp_path: Path):
    database = SQLite(tmp_path / "s.db", patience_s=0.0)
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unreachable, match=r"execution a: .*kept by another process.*end that process"):
        Leases(database).create("a").result()
    other.execute("ROLLBACK")
    assert Leases(database).create("a").result() is True
    other.close()
    database.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # threads and fork: it is the point
def test_a_store_is_refused_after_a_fork(database: Database):
    lease = claimed(database)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = []
        for use in (
            lambda: Checkpoints(database).append(lease, row(0)),
            lambda: Checkpoints(database).latest("a"),
        ):
            try:
                use()
            except Forked as error:
                said.append(str(error))
        database.close()
        os.write(writer, "\n".join(said).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writer)
    said = os.read(reader, 4096).decode().splitlines()
    os.close(reader)
    assert len(said) == 2
    assert said[0].startswith("execution a: ")
    assert "open the store again in each process" in said[0]
    assert Checkpoints(database).append(lease, row(0)).result().step == 0, "the parent's is as it was"


def test_a_full_disk_is_named_and_nothing_is_lost(tmp_path: Path):
    database = SQLite(tmp_path / "s.db", max_bytes=300_000)
    store, lease = Checkpoints(database), claimed(database)
    futures = [store.append(lease, row(step, "a", b"x" * 10_000)) for step in range(100)]
    kept = sum(future.exception() is None for future in futures)
    with pytest.raises(Full, match=r"execution a: .*no room to grow; make room and run it again"):
        futures[kept].result()
    assert 3 < kept < 100
    assert len(store.history("a")) == kept
    assert store.prune("a", 1).result() == kept - 1
    assert store.append(lease, row(kept)).result().step == kept, "it goes on once there is room"
    database.close()


def test_a_damaged_file_is_named(tmp_path: Path):
    path = tmp_path / "s.db"
    path.write_bytes(b"not a database at all, " * 200)
    with pytest.raises(Corrupt, match=r"s\.db is damaged .*restore it from a copy"):
        SQLite(path)
    path.unlink()
    SQLite(path).close()
    tables = path.stat().st_size
    database = SQLite(path)
    store, lease = Checkpoints(database), claimed(database)
    for step in range(200):
        store.append(lease, row(step, "a", b"x" * 1000)).result()
    database.close()
    data = path.read_bytes()
    path.write_bytes(data[:tables] + b"\xff" * (len(data) - tables))
    database = SQLite(path)
    with pytest.raises((Corrupt, StateError)) as caught:
        Checkpoints(database).history("a")
    assert "execution a" in str(caught.value)
    assert str(caught.value).count("\n") == 0
    database.close()


def test_tables_of_a_newer_version_are_refused(tmp_path: Path):
    SQLite(tmp_path / "s.db").close()
    newer = sqlite3.connect(tmp_path / "s.db")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(NewerVersion, match="has tables of version 99"):
        SQLite(tmp_path / "s.db")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(Unreachable, match="cannot be opened for writing"):
        SQLite(tmp_path / "nowhere" / "s.db")


def test_an_address_names_its_database(tmp_path: Path):
    opened = open_database(str(tmp_path / "s.db"), synchronous=Synchronous.NORMAL, group=1)
    assert opened.durability == "sqlite-normal"
    opened.close()


def test_errors_survive_a_process_border():
    made = pickle.loads(pickle.dumps(Full("a", "no room", "make some")))
    assert (type(made), str(made), made.execution) == (Full, "execution a: no room; make some", "a")
    assert isinstance(made, DurableError)


def test_processes_share_a_file(tmp_path: Path):
    path = str(tmp_path / "s.db")
    database = SQLite(path, synchronous=Synchronous.NORMAL)
    for number in range(20):
        Leases(database).create(f"e{number}").result()
    # An executor says so when its workers cannot come up; a Pool would start them again for ever.
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        taken = pool.map(claim_until_none_is_left, [path, path], ["w0", "w1"])
        assert sum(taken) == 20
    assert Leases(database).open() == 0
    assert all(len(Checkpoints(database).history(f"e{number}")) == 5 for number in range(20))
    database.close()


def test_a_file_of_an_older_version_is_brought_up_to_this_one(tmp_path: Path):
    """Version 1 had executions without a version, and an index by status alone; each attempt had a cost."""
    old = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    old.execute(
        "CREATE TABLE executions (thread_id TEXT PRIMARY KEY, status TEXT NOT NULL, owner TEXT NOT NULL, "
        "token TEXT NOT NULL, epoch BIGINT NOT NULL, expires REAL NOT NULL, lease_s REAL NOT NULL)"
    )
    old.execute("CREATE INDEX claimable ON executions (status, expires)")
    old.execute("INSERT INTO executions VALUES ('a', 'open', '', '', 3, 0, 0)")
    old.execute(OLD_CHECKPOINTS)
    for step in range(5):
        old.execute("INSERT INTO checkpoints VALUES ('a', ?, ?, '[]', 1, 3)", (step, b"%d" % step))
    old.execute(OLD_ATTEMPTS.format("attempts", "REAL"))
    old.execute(OLD_LEDGER.format("attempts"))
    old.execute("PRAGMA user_version = 1")
    old.close()
    for _ in range(2):
        database = SQLite(tmp_path / "s.db")
        found = Leases(database).claim("a", "w", 600.0).result()
        assert found is not None
        assert Leases(database).version("a") == 1
        assert Leases(database, 2).claim_any("w").result() is None
        assert found.latest == Checkpoints(database).history("a")[-1] == Checkpoint("a", 4, b"4", (), 1, 3)
        assert [each.step for each in Checkpoints(database).history("a")] == [0, 1, 2, 3, 4]
        Leases(database).release(found.lease).result()
        database.close()
    assert found.lease.epoch == 5


def test_what_was_not_known_is_no_0_any_more(tmp_path: Path):
    """Up to version 2 an attempt of which nobody knew what it cost had cost 0."""
    SQLite(tmp_path / "s.db").close()
    old = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    for statement in (
        *("DROP VIEW newest", "DROP TABLE steps", "DROP TABLE checkpoints", OLD_CHECKPOINTS),
        "DROP TABLE attempts",
        OLD_ATTEMPTS.format("attempts", "REAL"),
        OLD_LEDGER.format("attempts"),
        "PRAGMA user_version = 2",
    ):
        old.execute(statement)
    old.close()
    for _ in range(2):
        database = SQLite(tmp_path / "s.db")
        assert list(database.read(LEDGER, {})) == NEW_LEDGER
        database.close()
