"""Leases and rows of a database under test."""

from streamlanes.durable.database import Database, Work
from streamlanes.durable.leases import Leases
from streamlanes.durable.values import Checkpoint, Lease, Message

LONG_S = 600.0


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
