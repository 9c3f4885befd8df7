"""Which steps an execution has, where the key of the table begins with the step."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlanes.durable import audit, checkpoints, spans, steps
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.leases import Leases
from streamlanes.durable.sqlite import DIALECT, SQLite
from streamlanes.durable.values import Checkpoint

INSERT = "INSERT INTO checkpoints VALUES (?, ?, '', '[]', 1, 1) ON CONFLICT DO NOTHING"
DELETE = "DELETE FROM checkpoints WHERE thread_id = ? AND step = ?"
FIRST_AND_LAST = "SELECT thread_id, first_step, last_step FROM steps"
NAMES = ("a", "b", "c")
Kept = dict[str, set[int]]


def made() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for template in steps.laying(0):
        connection.execute(DIALECT.fill(template))
    return connection


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made_ = made()
    yield made_
    made_.close()


def read(connection: sqlite3.Connection, template: str, **params: object) -> list[tuple[object, ...]]:
    return connection.execute(DIALECT.fill(template), params).fetchall()


def add(connection: sqlite3.Connection, kept: Kept, name: str, step: int) -> None:
    connection.execute(INSERT, (name, step))
    kept[name].add(step)


def remove(connection: sqlite3.Connection, kept: Kept, name: str, step: int) -> None:
    connection.execute(DELETE, (name, step))
    kept[name].discard(step)


def prune(connection: sqlite3.Connection, kept: Kept, name: str, keep: int) -> None:
    read(connection, checkpoints._PRUNE, thread_id=name, keep=keep)
    if kept[name]:
        kept[name] = {step for step in kept[name] if step > max(kept[name]) - keep}


# Numbers next to each other, with gaps, and far away; in any order.
STEPS = st.integers(0, 8) | st.sampled_from([100, 10**12])
CHANGES = st.tuples(st.sampled_from([add, add, add, remove, prune]), st.sampled_from(NAMES), STEPS)


@given(st.lists(CHANGES, max_size=40))
def test_what_is_found_is_what_is_there(changes: list[tuple[Callable[..., None], str, int]]):
    connection = made()
    kept: Kept = {name: set() for name in NAMES}
    for change, name, number in changes:
        change(connection, kept, name, max(1, number) if change is prune else number)
    for name, found in kept.items():
        in_order = sorted(found)
        latest = [row[1] for row in read(connection, checkpoints.LATEST, thread_id=name)]
        assert latest == in_order[-1:]
        assert [row[1] for row in read(connection, checkpoints._HISTORY, thread_id=name)] == in_order
        for template in (spans._STEPS, audit._STEPS):
            assert [row[0] for row in read(connection, template, thread_id=name)] == in_order
    there = {(name, min(found), max(found)) for name, found in kept.items() if found}
    assert set(connection.execute(FIRST_AND_LAST)) == there
    connection.close()


@pytest.mark.parametrize("template", [checkpoints.LATEST, checkpoints._HISTORY, checkpoints._PRUNE])
def test_no_execution_reads_the_rows_of_all(connection: sqlite3.Connection, template: str):
    for name in NAMES:
        for step in range(50):
            connection.execute(INSERT, (name, step))
    plan = connection.execute(
        "EXPLAIN QUERY PLAN " + DIALECT.fill(template), {"thread_id": "a", "keep": 1}
    ).fetchall()
    said = [detail for *_, detail in plan]
    assert any(detail.startswith("SEARCH") and "step=? AND thread_id=?" in detail for detail in said), said
    assert not any(detail.startswith(("SCAN checkpoints", "SCAN c", "SCAN steps")) for detail in said), said


def pages_in_log(connection: sqlite3.Connection, how: str) -> int:
    """Move the log into the file; how many pages it had. The store's own thread may be at it: one at a time
    can, and the other is told to come again."""
    end = time.monotonic() + 60
    while True:
        busy, pages, _ = connection.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
        if not busy:
            return int(pages)
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_steps_of_a_group_are_written_together(tmp_path: Path):
    """With the execution first in the key, each of 100 executions dirtied a page of its own at each step."""
    database = SQLite(tmp_path / "s.db")
    store, leases = Checkpoints(database), Leases(database)
    held = [leases.claim(f"e{number}", "w", 600.0) for number in range(100)]
    taken = [found.lease for future in held if (found := future.result())]

    def group(step: int) -> None:
        for future in [store.append(lease, Checkpoint(lease.thread_id, step, b"{}")) for lease in taken]:
            future.result()

    for step in range(400):
        group(step)
    before = database.counts.commits
    empty = sqlite3.connect(tmp_path / "s.db")
    pages_in_log(empty, "TRUNCATE")
    group(400)
    pages = pages_in_log(empty, "PASSIVE")
    commits = database.counts.commits - before
    assert 0 < pages <= 20 * commits
    empty.close()
    database.close()
