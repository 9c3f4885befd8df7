"""The fence: a write of a worker changes something only while the worker has its lease."""

from collections.abc import Mapping, Sequence

from streamlanes.durable.database import Done, Write
from streamlanes.durable.errors import LeaseLost
from streamlanes.durable.values import Lease

FENCE = """EXISTS (SELECT 1 FROM executions e
    WHERE e.thread_id = :thread_id AND e.token = :token AND e.expires > {now}{share})"""
"""A condition that holds for whoever has the lease, and keeps it from being taken until the
transaction ends."""

HELD = "SELECT epoch FROM executions WHERE thread_id = :thread_id AND token = :token AND expires > {now}"
"""A row for whoever has the lease."""


def held(lease: Lease) -> dict[str, object]:
    """The parameters that both templates need."""
    return {"thread_id": lease.thread_id, "token": lease.token}


def fenced(
    lease: Lease, template: str, params: Mapping[str, object], before: str | None = None
) -> Write[None]:
    """One statement with FENCE in it; answered with LeaseLost where the fence kept it out.

    before: a statement that goes with it, fenced likewise, ahead of it.

    A statement that changes 0 rows though the lease is good was carried out before: its answer was
    lost with a connection, and it was sent again.
    """

    def answer(done: Sequence[Done]) -> None:
        *_, made, mine = done
        if made.changed == 0 and not mine.rows:
            raise lost(lease)

    given = {**params, **held(lease)}
    templates = (template, HELD) if before is None else (before, template, HELD)
    return Write(lease.thread_id, tuple((each, given) for each in templates), answer)


def lost(lease: Lease) -> LeaseLost:
    """The error of a worker whose write was kept out."""
    what = f"the lease of {lease.owner} (epoch {lease.epoch}) lapsed, nothing was written"
    return LeaseLost(lease.thread_id, what, "claim it again and go on from the latest checkpoint")
