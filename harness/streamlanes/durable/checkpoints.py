"""The checkpoint store: append-only, one row a super-step, keyed (thread_id, step)."""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Protocol

from streamlanes.durable.database import Database, Done, Params, Row, Transaction, Work, Write
from streamlanes.durable.errors import DurableError, NewerVersion, StateError, StepTaken
from streamlanes.durable.fence import HELD, held, lost
from streamlanes.durable.values import RUNTIME_VERSION, Checkpoint, Lease, Message

_COLUMNS = "thread_id, step, state, pending, version, epoch"

# The fence: what is inserted comes out of the row of the one who holds the lease, so without it there
# is nothing to insert.
APPEND = f"""INSERT INTO checkpoints ({_COLUMNS})
SELECT thread_id, :step, :state, :pending, :version, epoch FROM executions
WHERE thread_id = :thread_id AND token = :token AND expires > {{now}}{{share}}
ON CONFLICT DO NOTHING"""
# An append that is refused does nothing of the rest either, though its lease is good: messages are sent of
# the step that has them, and what ends an execution is the very row that is there.
_SEND = """INSERT INTO outbox (key, thread_id, target, payload, status, attempts, due)
SELECT :key, c.thread_id, :target, :payload, 'waiting', 0, 0
FROM checkpoints c JOIN executions e ON e.thread_id = c.thread_id
WHERE c.thread_id = :thread_id AND c.step = :step AND c.epoch = e.epoch AND e.token = :token
AND c.pending = :pending
ON CONFLICT DO NOTHING"""
# Does not look at the time again: the append before it did, and holds the row until the commit.
_FINISH = """UPDATE executions SET status = 'done', token = '', expires = 0, ended = :ended
WHERE thread_id = :thread_id AND token = :token
AND EXISTS (SELECT 1 FROM checkpoints c
    WHERE c.thread_id = :thread_id AND c.step = :step AND c.epoch = executions.epoch
    AND c.state = :state AND c.pending = :pending AND c.version = :version)"""
LATEST = f"SELECT {_COLUMNS} FROM {{newest}} WHERE thread_id = :thread_id ORDER BY step DESC LIMIT 1"
_AT = f"SELECT {_COLUMNS} FROM checkpoints WHERE thread_id = :thread_id AND step = :step"
_ENDED = "SELECT 1 FROM executions WHERE thread_id = :thread_id AND status = 'done' AND epoch = :epoch"
_HISTORY = f"SELECT {_COLUMNS} FROM checkpoints WHERE thread_id = :thread_id{{kept}} ORDER BY step"
_PRUNE = """DELETE FROM checkpoints WHERE thread_id = :thread_id{kept} AND step <= (
    SELECT max(step) FROM {newest} WHERE thread_id = :thread_id) - :keep"""


class CheckpointStore(Protocol):
    """Where the super-steps of executions are kept."""

    durability: str

    def append(self, lease: Lease, checkpoint: Checkpoint, *, last: bool = False) -> "Future[Checkpoint]": ...

    def latest(self, thread_id: str) -> Checkpoint | None: ...

    def history(self, thread_id: str) -> Sequence[Checkpoint]: ...

    def prune(self, thread_id: str, keep: int) -> "Future[int]": ...


class Checkpoints:
    """The store on either database.

    version: the runtime version that reads and updates. now: the wall clock, for when executions ended.
    """

    def __init__(
        self,
        database: Database,
        version: int = RUNTIME_VERSION,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._version = version
        self._now = now
        self.durability = database.durability

    def append(self, lease: Lease, checkpoint: Checkpoint, *, last: bool = False) -> "Future[Checkpoint]":
        """Keep a step, hand its messages to the outbox, and with `last` end the execution: all or nothing.

        The future is answered with the row as kept, once it is durable. It fails with LeaseLost when
        the lease is no longer good, with StepTaken when the step has another checkpoint.
        """
        row = {
            "thread_id": checkpoint.thread_id,
            "step": checkpoint.step,
            "state": checkpoint.state,
            "pending": _pending(checkpoint.pending),
            "version": checkpoint.version,
            "token": lease.token,
        }
        statements: tuple[tuple[str, Params], ...] = ((APPEND, row),)
        if checkpoint.pending:
            key = {name: row[name] for name in ("thread_id", "step", "pending", "token")}
            sent = (
                {"key": each.key, "target": each.target, "payload": each.payload}
                for each in checkpoint.pending
            )
            statements += tuple((_SEND, {**key, **each}) for each in sent)
        if last:
            statements += ((_FINISH, {**row, "ended": self._now()}),)
        return self._database.submit(
            Write(lease.thread_id, statements, partial(self._answer, lease, checkpoint, last))
        )

    def update(self, lease: Lease, change: Callable[[bytes | None], bytes]) -> "Future[Checkpoint]":
        """Read the latest state and append what `change` makes of it, in one transaction, so that no
        other update comes between. `change` runs in the store's thread: it must be short."""

        before: list[Checkpoint] = []

        def do(transaction: Transaction) -> Checkpoint:
            mine = held(lease)
            if not transaction.run(HELD + "{share}", mine).rows:
                raise lost(lease)
            # Carried out twice when a connection was lost at its commit. All writes of a lease go through
            # one writer in their order, so a row where ours would be can only be ours.
            for kept in before:
                again = transaction.run(_AT, {"thread_id": kept.thread_id, "step": kept.step}).rows
                if again and self._checkpoint(again[0]) == kept:
                    return kept
            rows = transaction.run(LATEST, mine).rows
            last = self._checkpoint(rows[0]) if rows else None
            made = Checkpoint(
                lease.thread_id,
                last.step + 1 if last else 0,
                change(last.state if last else None),
                version=self._version,
                epoch=lease.epoch,
            )
            row = {"step": made.step, "state": made.state, "pending": "[]", "version": made.version}
            # PostgreSQL's clock goes on while `change` runs, and a heartbeat waits for this very transaction.
            if transaction.run(APPEND, {**mine, **row}).changed != 1:
                raise lost(lease)
            before[:] = [made]
            return made

        return self._database.submit(Work(lease.thread_id, do))

    def latest(self, thread_id: str) -> Checkpoint | None:
        """The newest step. Raises NewerVersion when a newer program wrote it."""
        rows = self._database.read(LATEST, {"thread_id": thread_id})
        return self._checkpoint(rows[0]) if rows else None

    def history(self, thread_id: str) -> Sequence[Checkpoint]:
        """All steps that are kept, the oldest first."""
        return [self._checkpoint(row) for row in self._database.read(_HISTORY, {"thread_id": thread_id})]

    def prune(self, thread_id: str, keep: int) -> "Future[int]":
        """Forget all steps but the newest `keep`, at least 1; answered with how many went.

        It needs no lease: a worker never reads what goes.
        """
        if keep < 1:
            raise DurableError(thread_id, f"cannot keep {keep} steps", "keep 1 or more")
        params = {"thread_id": thread_id, "keep": keep}
        return self._database.submit(Write(thread_id, ((_PRUNE, params),), lambda done: done[0].changed))

    def _answer(self, lease: Lease, checkpoint: Checkpoint, last: bool, done: Sequence[Done]) -> Checkpoint:
        """What an append came to."""
        kept = _under(lease, checkpoint)
        if done[0].changed == 1:
            return kept
        if self._there(kept) and (not last or done[-1].changed == 1 or self._ended(kept)):
            return kept
        raise self._refused(lease, kept)

    def _checkpoint(self, row: Row) -> Checkpoint:
        return checkpoint(row, self._version)

    def _there(self, kept: Checkpoint) -> bool:
        """Whether this very row is there: after a lost connection the same append may come twice."""
        rows = self._database.read(_AT, {"thread_id": kept.thread_id, "step": kept.step})
        return bool(rows) and self._checkpoint(rows[0]) == kept

    def _ended(self, kept: Checkpoint) -> bool:
        """Whether the execution ended under this row's lease."""
        return bool(self._database.read(_ENDED, {"thread_id": kept.thread_id, "epoch": kept.epoch}))

    def _refused(self, lease: Lease, kept: Checkpoint) -> Exception:
        """Why an append changed nothing."""
        if self._database.read(HELD, held(lease)):
            return StepTaken(
                lease.thread_id,
                f"step {kept.step} has a checkpoint already, another one",
                "append the step after the latest",
            )
        return lost(lease)


def checkpoint(row: Row, reader: int = RUNTIME_VERSION) -> Checkpoint:
    """A row of the table, as runtime version `reader` reads it. Raises NewerVersion, and StateError for a
    row that is damaged."""
    thread_id, step, state, pending, version, epoch = row
    if version > reader:
        what = f"step {step} was written by runtime version {version}, this is {reader}"
        raise NewerVersion(thread_id, what, f"run it with version {version} or newer")
    try:
        messages = tuple(Message(*each) for each in json.loads(pending))
    except (ValueError, TypeError):
        remedy = "restore the store from a copy, or delete that row to go on from the step before it"
        raise StateError(thread_id, f"the pending writes of step {step} cannot be read", remedy) from None
    return Checkpoint(thread_id, step, bytes(state), messages, version, epoch)


def _under(lease: Lease, made: Checkpoint) -> Checkpoint:
    """A step as it is kept: with the epoch of its lease."""
    if made.epoch == lease.epoch:
        return made
    return Checkpoint(made.thread_id, made.step, made.state, made.pending, made.version, lease.epoch)


def _pending(messages: Sequence[Message]) -> str:
    if not messages:
        return "[]"
    return json.dumps([[each.key, each.target, each.payload] for each in messages], separators=(",", ":"))
