"""How SQLite finds the steps of an execution.

The key of `checkpoints` begins with the step there. Beginning with the execution, it would have a place of
its own for each: a group of 100 steps wrote 100 of the index's pages, three times what it wrote of rows, and
all of them again with the next. So the steps of a group lie together, and a small table says where an
execution begins and ends; triggers keep it right, whoever adds rows or takes some away. PostgreSQL logs
what changes in a page and needs none of this.
"""

from collections.abc import Iterator

from streamlanes.durable import tables

KEY = "step, thread_id"
NEWEST = "newest"

# Without the lease there is no epoch, and a row without one is none. Taken out of `executions` as elsewhere,
# the row would go through a table in between, since there are triggers: 2 us of the 8 that it takes.
APPEND = """INSERT OR IGNORE INTO checkpoints (thread_id, step, state, pending, version, epoch)
VALUES (:thread_id, :step, :state, :pending, :version, (
    SELECT epoch FROM executions WHERE thread_id = :thread_id AND token = :token AND expires > {now}))"""

# The step after `kept.step`: as a rule the next number. Where steps are missing, the key is read on to the
# execution's next row, past those of all others.
_AFTER = """coalesce(
    (SELECT step FROM checkpoints WHERE step = {step} + 1 AND thread_id = {thread_id}),
    (SELECT min(step) FROM checkpoints WHERE step > {step} AND thread_id = {thread_id}))"""
_BEFORE = """coalesce(
    (SELECT step FROM checkpoints WHERE step = {step} - 1 AND thread_id = {thread_id}),
    (SELECT max(step) FROM checkpoints WHERE step < {step} AND thread_id = {thread_id}))"""

KEPT = f""" AND step IN (
    WITH RECURSIVE kept(step) AS (
        SELECT first_step FROM steps WHERE thread_id = :thread_id
        UNION ALL
        SELECT {_AFTER.format(step="kept.step", thread_id=":thread_id")} FROM kept
        WHERE kept.step < (SELECT last_step FROM steps WHERE thread_id = :thread_id))
    SELECT step FROM kept)"""
"""What picks the rows of :thread_id by their steps."""

_OLD = {"step": "old.step", "thread_id": "old.thread_id"}
_TABLES = (
    """CREATE TABLE IF NOT EXISTS steps (
    thread_id TEXT PRIMARY KEY,
    first_step BIGINT NOT NULL,
    last_step BIGINT NOT NULL
) WITHOUT ROWID""",
    """INSERT INTO steps SELECT thread_id, min(step), max(step) FROM checkpoints GROUP BY thread_id
    ON CONFLICT DO NOTHING""",
    """CREATE TRIGGER IF NOT EXISTS step_kept AFTER INSERT ON checkpoints BEGIN
    INSERT INTO steps VALUES (new.thread_id, new.step, new.step) ON CONFLICT (thread_id) DO UPDATE
    SET first_step = min(first_step, excluded.first_step), last_step = max(last_step, excluded.last_step);
END""",
    f"""CREATE TRIGGER IF NOT EXISTS step_gone AFTER DELETE ON checkpoints BEGIN
    DELETE FROM steps
    WHERE thread_id = old.thread_id AND first_step = old.step AND last_step = old.step;
    UPDATE steps SET first_step = {_AFTER.format(**_OLD)}
    WHERE thread_id = old.thread_id AND first_step = old.step;
    UPDATE steps SET last_step = {_BEFORE.format(**_OLD)}
    WHERE thread_id = old.thread_id AND last_step = old.step;
END""",
    f"""CREATE VIEW IF NOT EXISTS {NEWEST} AS
    SELECT s.thread_id, c.step, c.state, c.pending, c.version, c.epoch
    FROM steps s JOIN checkpoints c ON c.step = s.last_step AND c.thread_id = s.thread_id""",
)
_AWAY = "ALTER TABLE checkpoints RENAME TO checkpoints_of_3"
_BACK = (
    "INSERT INTO checkpoints SELECT * FROM checkpoints_of_3 ORDER BY rowid",
    "DROP TABLE checkpoints_of_3",
)


def laying(version: int) -> Iterator[str]:
    """As tables.laying, and what is SQLite's own."""
    other_key = 0 < version < 4
    if other_key:
        yield _AWAY
    yield from tables.laying(version)
    if other_key:
        yield from _BACK
    yield from _TABLES
