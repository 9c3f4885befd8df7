"""The event log of a workflow: numbered without a gap, only ever added to, under the lease.

A row is written only where its predecessor is, so what a log holds is always the beginning of what
happened: a crash cuts it off, and never leaves a hole.
"""

import enum
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from streamlanes.durable.database import Database, Done, Params, Transaction, Work, Write
from streamlanes.durable.errors import DurableError, LogCut
from streamlanes.durable.fence import held, lost
from streamlanes.durable.state import decode
from streamlanes.durable.values import Lease, named

_COLUMNS = "number, call, kind, name, data, at, epoch"
_APPEND = f"""INSERT INTO events (thread_id, {_COLUMNS})
SELECT thread_id, :number, :call, :kind, :name, :data, :at, epoch FROM executions
WHERE thread_id = :thread_id AND token = :token AND expires > {{now}}
AND (:number = 1 OR EXISTS (SELECT 1 FROM events WHERE thread_id = :thread_id AND number = :before)){{share}}
ON CONFLICT DO NOTHING"""
# Does not look at the time again: the append before it did, and holds the row until the commit.
_FINISH = """UPDATE executions SET status = 'done', token = '', expires = 0, ended = :at
WHERE thread_id = :thread_id AND token = :token
AND EXISTS (SELECT 1 FROM events WHERE thread_id = :thread_id AND number = :number AND kind = 'ended')"""
_WHOSE = "SELECT epoch FROM events WHERE thread_id = :thread_id AND number = :number"
# The status comes in the same statement: read apart, an execution that ends meanwhile would look cut.
_READ = f"""SELECT {_COLUMNS}, (SELECT status FROM executions WHERE thread_id = :thread_id)
FROM events WHERE thread_id = :thread_id ORDER BY number"""
_COUNT = "SELECT count(*) FROM events WHERE thread_id = :thread_id"
_ADOPT = """INSERT INTO executions (thread_id, status, owner, token, epoch, expires, lease_s, version, ended)
VALUES (:thread_id, :status, '', '', :epoch, 0, 0, :version, :ended) ON CONFLICT DO NOTHING"""
_PUT = f"""INSERT INTO events (thread_id, {_COLUMNS})
VALUES (:thread_id, :number, :call, :kind, :name, :data, :at, :epoch)"""


class Kind(enum.StrEnum):
    """What an event tells."""

    SESSION = "session"  # a worker took the workflow up: who, which version, and the first time the input
    RECORDED = "recorded"  # a reading of the clock or of chance
    SCHEDULED = "scheduled"  # an activity is about to run for the first time, with its input
    AGAIN = "again"  # it is about to run another time: an attempt failed, or its worker died
    FAILED = "failed"  # an attempt failed, and another may follow
    GAVE_UP = "gave-up"  # the last attempt failed
    COMPLETED = "completed"  # it ran, with its output
    BROKEN = "broken"  # the workflow itself raised; it can be taken up again
    ENDED = "ended"  # the workflow returned, with its result


@dataclass(frozen=True, slots=True)
class Event:
    """A line of a log.

    number: from 1. call: the call of the workflow it belongs to; "" where it is the workflow's own.
    data: JSON. at_s: the writer's wall clock, for people: nothing rests on it.
    epoch: the claim it was written under.
    """

    number: int
    call: str
    kind: Kind
    name: str
    data: str
    at_s: float
    epoch: int


class Events:
    """The logs of all workflows of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, thread_id: str) -> list[Event]:
        """A log from its beginning; empty for a workflow that was never there. Raises LogCut where
        events are missing, the last of an execution that is done among them, or are of a kind that this
        version does not know."""
        events: list[Event] = []
        rows = self._database.read(_READ, {"thread_id": thread_id})
        for number, call, kind, name, data, at_s, epoch, _ in rows:
            if number != len(events) + 1:
                raise _cut(thread_id, f"event {len(events) + 1} of its log is missing")
            known = _KINDS.get(kind)
            if known is None:
                raise _cut(thread_id, f"event {number} of its log is of the unknown kind {kind[:40]!r}")
            events.append(Event(number, call, known, name, data, at_s, epoch))
        if events and rows[-1][-1] == "done" and events[-1].kind is not Kind.ENDED:
            raise _cut(thread_id, f"it is done, and the end of its log is missing, after event {len(events)}")
        return events

    def append(self, lease: Lease, events: Sequence[Event], *, last: bool = False) -> "Future[None]":
        """Add events, and with `last` end the execution: all or nothing. The future fails with LeaseLost
        where the lease is no longer good."""
        mine = held(lease)
        rows = [{**mine, **_row(event)} for event in events]
        statements: list[tuple[str, Params]] = [(_APPEND, row) for row in rows]
        if last:
            statements.append((_FINISH, rows[-1]))
        statements.append((_WHOSE, rows[-1]))

        def answer(done: Sequence[Done]) -> None:
            # Rows that were there already are this session's own, sent again after a lost connection:
            # nobody else has its epoch.
            if [epoch for (epoch,) in done[-1].rows] != [lease.epoch]:
                raise lost(lease)

        return self._database.submit(Write(lease.thread_id, tuple(statements), answer))

    def adopt(self, thread_id: str, version: int, events: Sequence[Event]) -> "Future[None]":
        """Put a whole log, of another store, where there is none; its execution stays on `version`. Raises
        DurableError where there is one."""
        end = events[-1] if events and events[-1].kind is Kind.ENDED else None
        owned = {
            "thread_id": named(thread_id),
            "status": "done" if end else "open",
            "epoch": max((event.epoch for event in events), default=0),
            "version": version,
            "ended": float(end.at_s) if end else 0.0,
        }

        def do(transaction: Transaction) -> None:
            made = transaction.run(_ADOPT, owned)
            if made.changed == 0 or transaction.run(_COUNT, owned).rows[0][0]:
                remedy = "import into another store, or leave it as it is"
                raise DurableError(thread_id, "it is in this store already", remedy)
            for event in events:
                transaction.run(_PUT, {"thread_id": thread_id, **_row(event), "epoch": event.epoch})

        return self._database.submit(Work(thread_id, do))


_KINDS = {kind.value: kind for kind in Kind}


def _row(event: Event) -> Params:
    return {
        "number": event.number,
        "before": event.number - 1,
        "call": event.call,
        "kind": event.kind.value,
        "name": event.name,
        "data": event.data,
        "at": float(event.at_s),
    }


def _cut(thread_id: str, what: str) -> LogCut:
    return LogCut(thread_id, what, "restore the store from a copy, or import an export of the log elsewhere")


def said(thread_id: str, event: Event) -> dict[str, Any]:
    """What an event's data says, where that is an object. Raises LogCut for one that is damaged."""
    found = decode(thread_id, f"event {event.number} of its log", event.data)
    if not isinstance(found, dict):
        raise _cut(thread_id, f"event {event.number} of its log says too little")
    return found
