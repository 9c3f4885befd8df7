"""A queue that is a table, and a state store beside it, in one database.

Consumers claim jobs under a token; on PostgreSQL they skip what others have locked. A claim that lapses
makes its job come again, so a job is delivered at least once. Consuming it is one transaction: the
consumer notes that it has, keeps the state, takes the job away and puts the next one there. Whoever
comes second finds the note, changes nothing, and is told so.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from streamlanes.durable.database import Database, Done, Transaction, Work, Write

TABLES = (
    """CREATE TABLE IF NOT EXISTS queue_jobs (
    execution BIGINT NOT NULL,
    step BIGINT NOT NULL,
    token TEXT NOT NULL,
    due {real} NOT NULL,
    deliveries BIGINT NOT NULL,
    PRIMARY KEY (execution, step)
)""",
    "CREATE INDEX IF NOT EXISTS queue_due ON queue_jobs (due)",
    "CREATE INDEX IF NOT EXISTS queue_token ON queue_jobs (token)",
    # The note of who consumed a job.
    """CREATE TABLE IF NOT EXISTS queue_consumed (
    execution BIGINT NOT NULL,
    step BIGINT NOT NULL,
    token TEXT NOT NULL,
    PRIMARY KEY (execution, step)
)""",
    """CREATE TABLE IF NOT EXISTS queue_states (
    execution BIGINT PRIMARY KEY,
    step BIGINT NOT NULL,
    state {blob} NOT NULL
)""",
)

_PUT = """INSERT INTO queue_jobs (execution, step, token, due, deliveries)
SELECT :execution, :step, '', {now}, 0
WHERE NOT EXISTS (SELECT 1 FROM queue_consumed WHERE execution = :execution AND step = :step)
ON CONFLICT DO NOTHING"""
# Picked apart from the update: within it, PostgreSQL may pick more than it was asked for.
_CLAIM = """WITH picked AS MATERIALIZED (
    SELECT execution, step FROM queue_jobs WHERE due <= {now} ORDER BY due LIMIT :most{skip})
UPDATE queue_jobs SET token = :token, due = {now} + :visible_s, deliveries = deliveries + 1
WHERE (execution, step) IN (SELECT execution, step FROM picked)
AND NOT EXISTS (SELECT 1 FROM queue_jobs WHERE token = :token)"""
_CLAIMED = "SELECT execution, step, deliveries FROM queue_jobs WHERE token = :token ORDER BY execution, step"
_RENEW = """UPDATE queue_jobs SET due = {now} + :visible_s
WHERE execution = :execution AND step = :step AND token = :token"""

_NOTE = """INSERT INTO queue_consumed (execution, step, token)
VALUES (:execution, :step, :token) ON CONFLICT DO NOTHING"""
_MINE = """EXISTS (SELECT 1 FROM queue_consumed
    WHERE execution = :execution AND step = :step AND token = :token)"""
_KEEP = f"""INSERT INTO queue_states (execution, step, state)
SELECT :execution, :step, :state WHERE {_MINE}
ON CONFLICT (execution) DO UPDATE SET step = excluded.step, state = excluded.state
WHERE queue_states.step < excluded.step"""
_TAKE_AWAY = "DELETE FROM queue_jobs WHERE execution = :execution AND step = :step"
_NEXT = f"""INSERT INTO queue_jobs (execution, step, token, due, deliveries)
SELECT :execution, :next, '', {{now}}, 0 WHERE {_MINE}
AND NOT EXISTS (SELECT 1 FROM queue_consumed WHERE execution = :execution AND step = :next)
ON CONFLICT DO NOTHING"""
_WHOSE = "SELECT token FROM queue_consumed WHERE execution = :execution AND step = :step"

_STATE = "SELECT step, state FROM queue_states WHERE execution = :execution"
_CONSUMED = "SELECT execution, count(*) FROM queue_consumed GROUP BY execution"
_WAITING = "SELECT count(*) FROM queue_jobs"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A job as a consumer gets it. times: how often it was delivered, this one included."""

    execution: int
    step: int
    token: str
    times: int


class Claims:
    """The queue and the store. Futures are answered when durable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def lay(self) -> "Future[None]":
        """Make the tables where they are not there yet."""

        def do(transaction: Transaction) -> None:
            for table in TABLES:
                transaction.run(table, {})

        return self._database.submit(Work(None, do))

    def put(self, execution: int) -> "Future[bool]":
        """Have the first job of an execution there; answered with whether it is new.

        One that was consumed is not."""
        job = {"execution": execution, "step": 0}
        return self._database.submit(Write(None, ((_PUT, job),), lambda done: done[0].changed == 1))

    def claim(self, most: int, visible_s: float) -> "Future[list[Delivery]]":
        """Take up to `most` jobs, longest waiting first, away from others for `visible_s`."""
        token = secrets.token_hex(8)
        asked = {"token": token, "most": most, "visible_s": float(visible_s)}

        def answer(done: Sequence[Done]) -> list[Delivery]:
            return [Delivery(execution, step, token, times) for execution, step, times in done[1].rows]

        return self._database.submit(Write(None, ((_CLAIM, asked), (_CLAIMED, {"token": token})), answer))

    def renew(self, deliveries: Iterable[Delivery], visible_s: float) -> "Future[None]":
        """Keep jobs away from others for `visible_s` from now; those that others have by now stay theirs."""
        jobs = [
            {
                "execution": each.execution,
                "step": each.step,
                "token": each.token,
                "visible_s": float(visible_s),
            }
            for each in deliveries
        ]
        return self._database.submit(Write(None, tuple((_RENEW, job) for job in jobs), lambda _: None))

    def consume(self, delivery: Delivery, state: bytes, *, last: bool) -> "Future[bool]":
        """Keep a job's state, and with it put the next job there, unless it is the last; answered with
        False where another delivery of the job was consumed: nothing of this one is kept."""
        job = {
            "execution": delivery.execution,
            "step": delivery.step,
            "next": delivery.step + 1,
            "token": delivery.token,
            "state": state,
        }
        templates = (_NOTE, _KEEP, _TAKE_AWAY, *(() if last else (_NEXT,)), _WHOSE)

        def answer(done: Sequence[Done]) -> bool:
            return [token for (token,) in done[-1].rows] == [delivery.token]

        return self._database.submit(Write(None, tuple((each, job) for each in templates), answer))

    def state(self, execution: int) -> tuple[int, bytes] | None:
        """The last step that was kept, and its state."""
        rows = self._database.read(_STATE, {"execution": execution})
        return (int(rows[0][0]), bytes(rows[0][1])) if rows else None

    def consumed(self) -> Mapping[int, int]:
        """Jobs that were consumed, by execution."""
        return {int(execution): int(count) for execution, count in self._database.read(_CONSUMED, {})}

    def waiting(self) -> int:
        """Jobs that are there, claimed or not."""
        return int(self._database.read(_WAITING, {})[0][0])
