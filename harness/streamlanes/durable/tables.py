"""The tables, the same on both databases.

Every statement that a worker writes with carries its lease's token and holds it against
`executions`: a worker that lost its lease changes 0 rows.
"""

SCHEMA_VERSION = 2
"""2 added events and spans. A store of an older version gets the tables it has not."""

TABLES = (
    # status: open, done, or lock (a lock is no work for anyone).
    # token is '' and expires 0 while nobody holds the lease.
    """CREATE TABLE IF NOT EXISTS executions (
    thread_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    owner TEXT NOT NULL,
    token TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    expires {real} NOT NULL,
    lease_s {real} NOT NULL
)""",
    "CREATE INDEX IF NOT EXISTS claimable ON executions (status, expires)",
    "CREATE INDEX IF NOT EXISTS held ON executions (token)",
    # Rows lie in order of arrival, so that a group of steps fills whole pages; only the key's index
    # is written all over.
    """CREATE TABLE IF NOT EXISTS checkpoints (
    thread_id TEXT NOT NULL,
    step BIGINT NOT NULL,
    state {blob} NOT NULL,
    pending TEXT NOT NULL,
    version BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    PRIMARY KEY (thread_id, step)
)""",
    # status: claimed, done, undone. answer is '' until it is done.
    """CREATE TABLE IF NOT EXISTS effects (
    key TEXT PRIMARY KEY,
    thread_id TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    answer TEXT NOT NULL,
    epoch BIGINT NOT NULL
)""",
    """CREATE TABLE IF NOT EXISTS attempts (
    key TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    status TEXT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    price_usd {real} NOT NULL,
    PRIMARY KEY (key, attempt)
)""",
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
)
