"""One row an execution: its state, its step, and a version that every change raises.

Nothing is locked and nobody owns a row. Whoever changes one names the version that it read; where
another was faster, it changes 0 rows and leaves the execution to that one. A row that nobody has
changed for long is anybody's to take up. PostgreSQL tells who listens of rows that begin and that end.
"""

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from streamlanes.durable.database import Database, Done, Params, Transaction, Work, Write

BEGUN, ENDED = "begun", "ended"
"""What is told, as the first word of a notification's text; the execution's number is the second."""

TABLE = """CREATE TABLE IF NOT EXISTS execution_rows (
    execution BIGINT PRIMARY KEY,
    step BIGINT NOT NULL,
    version BIGINT NOT NULL,
    owner TEXT NOT NULL,
    begun_by TEXT NOT NULL,
    status TEXT NOT NULL,
    touched {real} NOT NULL,
    state {blob} NOT NULL
)"""

_CREATE = """INSERT INTO execution_rows (execution, step, version, owner, begun_by, status, touched, state)
VALUES (:execution, 0, 0, '', :token, 'open', {now}, :state) ON CONFLICT DO NOTHING"""
_WHOSE = "SELECT begun_by FROM execution_rows WHERE execution = :execution"
_TELL = "SELECT pg_notify(:channel, :text)"
_TELL_BEGUN = f"""{_TELL} FROM execution_rows
WHERE execution = :execution AND version = 0 AND begun_by = :token"""
_CHANGE = """UPDATE execution_rows SET step = :step, version = version + 1, owner = :owner,
    status = :status, touched = {now}, state = coalesce(:state, state)
WHERE execution = :execution AND version = :version AND status = 'open'"""
_READ = "SELECT execution, step, version, owner, status FROM execution_rows WHERE execution = :execution"
_TELL_CHANGED = f"""{_TELL} FROM execution_rows
WHERE execution = :execution AND version = :version + 1 AND owner = :owner"""
_QUIET = """SELECT execution, step, version, owner, status FROM execution_rows
WHERE status = 'open' AND touched < {now} - :quiet_s"""
_TOLD = "SELECT execution, status FROM execution_rows WHERE version = 0 OR status <> 'open'"
_LEFT = "SELECT execution, step FROM execution_rows"


@dataclass(frozen=True, slots=True)
class Row:
    """An execution as it was read. step: steps done. status: open, done or failed."""

    execution: int
    step: int
    version: int
    owner: str
    status: str


class Rows:
    """The table. Futures are answered when durable."""

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel

    def lay(self) -> "Future[None]":
        """Make the table where it is not there yet."""

        def do(transaction: Transaction) -> None:
            transaction.run(TABLE, {})

        return self._database.submit(Work(None, do))

    def create(self, execution: int) -> "Future[bool]":
        """Have an execution there, and tell of one that is new; answered with whether it is."""
        token = secrets.token_hex(8)
        row = {"execution": execution, "token": token, "state": b"null"}
        tell = {**row, "channel": self._channel, "text": f"{BEGUN} {execution}"}

        def answer(done: Sequence[Done]) -> bool:
            # Not "made 1 row": see _change.
            return [begun_by for (begun_by,) in done[-1].rows] == [token]

        statements = ((_CREATE, row), (_TELL_BEGUN, tell), (_WHOSE, row))
        return self._database.submit(Write(None, statements, answer))

    def take(self, row: Row, owner: str) -> "Future[Row | None]":
        """Take an execution up as it stands; None where it is not as it was read any more. owner: a name
        that nobody had or will have, for whoever finds it in the row takes the row for its own."""
        return self._change(row, owner, row.step, "open", None)

    def keep(self, row: Row, state: bytes, *, last: bool) -> "Future[Row | None]":
        """Keep a step; None where the execution is not as it was read any more: nothing is changed."""
        return self._change(row, row.owner, row.step + 1, "done" if last else "open", state)

    def fail(self, row: Row) -> "Future[Row | None]":
        """End an execution whose step does not end well."""
        return self._change(row, row.owner, row.step, "failed", None)

    def read(self, execution: int) -> Row | None:
        """An execution as it stands."""
        rows = self._database.read(_READ, {"execution": execution})
        return Row(*rows[0]) if rows else None

    def quiet(self, quiet_s: float) -> list[Row]:
        """Executions that nobody has changed for so long, be it to begin them."""
        return [Row(*row) for row in self._database.read(_QUIET, {"quiet_s": quiet_s})]

    def told(self) -> list[str]:
        """What was told last of each row that nobody has taken up, and of each that is over."""
        return [
            f"{BEGUN} {execution}" if status == "open" else f"{ENDED} {execution} {status}"
            for execution, status in self._database.read(_TOLD, {})
        ]

    def left(self) -> Mapping[int, int]:
        """Steps done, by execution."""
        return {int(execution): int(step) for execution, step in self._database.read(_LEFT, {})}

    def _change(
        self, row: Row, owner: str, step: int, status: str, state: bytes | None
    ) -> "Future[Row | None]":
        new = Row(row.execution, step, row.version + 1, owner, status)
        named: Params = {"execution": row.execution}
        changed: Params = {
            **named,
            "step": step,
            "version": row.version,
            "owner": owner,
            "status": status,
            "state": state,
        }
        statements = [(_CHANGE, changed), (_READ, named)]
        if status != "open":
            tell = {"channel": self._channel, "text": f"{ENDED} {row.execution} {status}"}
            statements.insert(1, (_TELL_CHANGED, {**changed, **tell}))

        def answer(done: Sequence[Done]) -> Row | None:
            # Not "changed 1 row": the same change may be carried out twice, after a lost connection.
            return new if [Row(*each) for each in done[-1].rows] == [new] else None

        return self._database.submit(Write(None, tuple(statements), answer))
