"""Leases and rows of a database under test."""

from streamlanes.durable.database import Database, Work
from streamlanes.durable.leases import Leases
from streamlanes.durable.values import Checkpoint, Lease, Message

LONG_S = 600.0

OLD_CHECKPOINTS = """CREATE TABLE checkpoints (thread_id TEXT NOT NULL, step BIGINT NOT NULL,
    state BLOB NOT NULL, pending TEXT NOT NULL, version BIGINT NOT NULL, epoch BIGINT NOT NULL,
    PRIMARY KEY (thread_id, step))"""
"""Up to version 3."""
OLD_ATTEMPTS = """CREATE TABLE {0} (key TEXT NOT NULL, attempt BIGINT NOT NULL, status TEXT NOT NULL,
prompt_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, price_usd {1} NOT NULL,
PRIMARY KEY (key, attempt))"""
"""The ledger's table up to version 2."""
OLD_LEDGER = """INSERT INTO {0} VALUES ('k', 1, 'not-done', 0, 0, 0), ('k', 2, 'failed', 0, 0, 0),
('k', 3, 'begun', 0, 0, 0), ('k', 4, 'done', 10, 20, 0.5)"""
LEDGER = (
    "SELECT status, prompt_tokens, output_tokens, price_usd FROM attempts WHERE key = 'k' ORDER BY attempt"
)
NEW_LEDGER = [
    ("not-done", 0, 0, 0.0), ("failed", None, None, None), ("begun", None, None, None), ("done", 10, 20, 0.5)
]  # fmt: skip


def claimed(database: Database, thread_id: str = "a", owner: str = "w", lease_s: float = LONG_S) -> Lease:
    """A lease that was just claimed."""
    found = Leases(database).claim(thread_id, owner, lease_s).result()
    assert found is not None
    return found.lease


def row(step: int, thread_id: str = "a", state: bytes = b"{}", *messages: Message) -> Checkpoint:
    return Checkpoint(thread_id, step, state, messages)


def lapse(database: Database, thread_id: str) -> None:
    """Let a lease lapse at once."""
    template = "UPDATE executions SET expires = {now} - 1 WHERE thread_id = :thread_id"
    database.submit(Work(None, lambda tx: tx.run(template, {"thread_id": thread_id}))).result()
