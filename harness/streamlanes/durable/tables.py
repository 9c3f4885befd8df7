"""The tables, the same on both databases.

Every statement that a worker writes with carries its lease's token and holds it against
`executions`: a worker that lost its lease changes 0 rows.
"""

from collections.abc import Iterator

from streamlanes.durable.agents.tables import AGENT_TABLES

SCHEMA_VERSION = 4

_ATTEMPTS = """CREATE TABLE IF NOT EXISTS attempts (
    key TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    status TEXT NOT NULL,
    prompt_tokens BIGINT,
    output_tokens BIGINT,
    price_usd {real},
    PRIMARY KEY (key, attempt)
)"""

UPGRADES = {
    # 1: an execution had no version, and nobody noted when it ended.
    1: (
        "ALTER TABLE executions ADD COLUMN version BIGINT NOT NULL DEFAULT 1",
        "ALTER TABLE executions ADD COLUMN ended {real} NOT NULL DEFAULT 0",
        "DROP INDEX IF EXISTS claimable",
    ),
    # 2: an attempt of which nobody knew what it cost had cost 0.
    2: (
        "ALTER TABLE attempts RENAME TO attempts_of_2",
        _ATTEMPTS,
        """INSERT INTO attempts SELECT key, attempt, status,
    CASE WHEN status IN ('begun', 'failed') THEN NULL ELSE prompt_tokens END,
    CASE WHEN status IN ('begun', 'failed') THEN NULL ELSE output_tokens END,
    CASE WHEN status IN ('begun', 'failed') THEN NULL ELSE price_usd END FROM attempts_of_2""",
        "DROP TABLE attempts_of_2",
    ),
    # 3: on SQLite the key of checkpoints began with the execution; see steps.py.
    3: (),
}
"""By the version that is found: what makes its tables those of the next."""

TABLES = (
    # status: open, parked (waits for a person), capped (a cap stopped it), done, or lock (no work for
    # anyone). token is '' and expires 0 while nobody holds the lease. version: the runtime that it
    # stays on. ended: wall clock, 0 before.
    """CREATE TABLE IF NOT EXISTS executions (
    thread_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    owner TEXT NOT NULL,
    token TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    expires {real} NOT NULL,
    lease_s {real} NOT NULL,
    version BIGINT NOT NULL DEFAULT 1,
    ended {real} NOT NULL DEFAULT 0
)""",
    "CREATE INDEX IF NOT EXISTS claimable_of ON executions (status, version, expires)",
    "CREATE INDEX IF NOT EXISTS held ON executions (token)",
    # Rows lie in order of arrival, so that a group of steps fills whole pages.
    """CREATE TABLE IF NOT EXISTS checkpoints (
    thread_id TEXT NOT NULL,
    step BIGINT NOT NULL,
    state {blob} NOT NULL,
    pending TEXT NOT NULL,
    version BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    PRIMARY KEY ({key})
)""",
    # status: claimed, done. answer is '' until it is done.
    """CREATE TABLE IF NOT EXISTS effects (
    key TEXT PRIMARY KEY,
    thread_id TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    answer TEXT NOT NULL,
    epoch BIGINT NOT NULL
)""",
    # status: begun, failed, not-done, done. Tokens and price are NULL together, where nobody knows them.
    _ATTEMPTS,
    """CREATE TABLE IF NOT EXISTS outbox (
    key TEXT PRIMARY KEY,
    thread_id TEXT NOT NULL,
    target TEXT NOT NULL,
    payload TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    due {real} NOT NULL
)""",
    "CREATE INDEX IF NOT EXISTS waiting ON outbox (status, due)",
    # A workflow's log: numbers from 1 without a gap. call is '' for what is the workflow's own.
    """CREATE TABLE IF NOT EXISTS events (
    thread_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    call TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    at {real} NOT NULL,
    epoch BIGINT NOT NULL,
    PRIMARY KEY (thread_id, number)
)""",
    # What a worker that is traced did, and when. Nothing is decided by it.
    """CREATE TABLE IF NOT EXISTS spans (
    thread_id TEXT NOT NULL,
    token TEXT NOT NULL,
    number BIGINT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    step BIGINT NOT NULL,
    key TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    owner TEXT NOT NULL,
    version BIGINT NOT NULL,
    began {real} NOT NULL,
    took {real} NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (thread_id, token, number)
)""",
    # place: the key of the call that asks; round counts how often it asked. status: pending, approved,
    # rejected. epoch: the lease that took the decision up first, 0 before. asked, decided: wall clock.
    """CREATE TABLE IF NOT EXISTS requests (
    id TEXT PRIMARY KEY,
    thread_id TEXT NOT NULL,
    place TEXT NOT NULL,
    round BIGINT NOT NULL,
    proposal TEXT NOT NULL,
    status TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    note TEXT NOT NULL,
    asked {real} NOT NULL,
    decided {real} NOT NULL,
    epoch BIGINT NOT NULL,
    UNIQUE (place, round)
)""",
    "CREATE INDEX IF NOT EXISTS pending ON requests (status, asked)",
    "CREATE INDEX IF NOT EXISTS asking ON requests (thread_id, status)",
    # starts, ends: the part of the line from 0 to 1 whose new executions it gets; equal for none.
    # closed: wall clock at which it got none any more, 0 before.
    """CREATE TABLE IF NOT EXISTS versions (
    version BIGINT PRIMARY KEY,
    starts {real} NOT NULL,
    ends {real} NOT NULL,
    closed {real} NOT NULL
)""",
    # scope: a thread_id, or '' for the whole store. NULL is no cap.
    """CREATE TABLE IF NOT EXISTS caps (
    scope TEXT PRIMARY KEY,
    most_tokens BIGINT,
    most_usd {real},
    tokens BIGINT NOT NULL,
    usd {real} NOT NULL
)""",
    *AGENT_TABLES,
)


def laying(version: int) -> Iterator[str]:
    """The templates that make the tables of a version those of this one; 0 has none."""
    for found in range(version or SCHEMA_VERSION, SCHEMA_VERSION):
        yield from UPGRADES[found]
    yield from TABLES
