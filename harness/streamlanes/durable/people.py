"""People: an execution that waits for one holds nothing, for as long as that takes.

A step asks by `Step.interrupt` or `Step.propose`. In one transaction the request is kept and the
execution parked: its lease is gone, no worker claims it, no clock runs. A decision, from any process
and however much later, opens it again in the transaction that keeps the decision; whichever worker
claims it repeats the step, comes to the same place and is told.

What a person decides on is the proposal as it was kept, and nothing else is ever done on that ground:
a step that is repeated and then proposes something else is refused. A decision is good for all lives
of the step, so nobody is asked twice; under `reapprove_on_resume` an approval is good for the first life
that takes it up, and a worker that resumes after that one's death asks anew. A rejection stands.
"""

import enum
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from streamlanes.durable.database import Database, Done, Row, Transaction, Work, Write
from streamlanes.durable.errors import AlreadyDecided, NoRequest, ProposalChanged
from streamlanes.durable.fence import HELD, held, lost
from streamlanes.durable.state import decode, encode
from streamlanes.durable.values import Lease

_COLUMNS = "id, thread_id, place, round, proposal, status, decided_by, note, asked, decided, epoch"
_LATEST = f"SELECT {_COLUMNS} FROM requests WHERE place = :place ORDER BY round DESC LIMIT 1"
_ONE = f"SELECT {_COLUMNS} FROM requests WHERE id = :id"
_PENDING = f"SELECT {_COLUMNS} FROM requests WHERE status = 'pending' ORDER BY asked, id"
_OF = f"SELECT {_COLUMNS} FROM requests WHERE thread_id = :thread_id ORDER BY asked, id"
_COMMITTED = "SELECT 1 FROM effects WHERE key = :key AND status = 'done'"
_ASK = f"""INSERT INTO requests ({_COLUMNS})
VALUES (:id, :thread_id, :place, :round, :proposal, 'pending', '', '', :asked, 0, 0) ON CONFLICT DO NOTHING"""
_TELL = """INSERT INTO outbox (key, thread_id, target, payload, status, attempts, due)
VALUES (:id, :thread_id, :target, :proposal, 'waiting', 0, 0) ON CONFLICT DO NOTHING"""
_PARK = """UPDATE executions SET status = 'parked', token = '', expires = 0
WHERE thread_id = :thread_id AND token = :token"""
_PARKED = "SELECT 1 FROM executions WHERE thread_id = :thread_id AND status = 'parked' AND epoch = :epoch"
_TAKE_UP = "UPDATE requests SET epoch = :epoch WHERE id = :id AND epoch = 0"
_DECIDE = """UPDATE requests SET status = :verdict, decided_by = :by, note = :note, decided = :decided
WHERE id = :id AND status = 'pending'"""
_WAKE = """UPDATE executions SET status = 'open', token = '', expires = 0
WHERE status = 'parked' AND thread_id = (SELECT thread_id FROM requests WHERE id = :id)
AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.thread_id = executions.thread_id AND r.status = 'pending')"""


class Status(enum.StrEnum):
    """Where a request is on its way. The last two are final."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Request:
    """What a person was asked.

    id: what a decision names. place: the call that asks, the same for every life of its step; round:
    1, or more where policy had it asked anew. proposal: JSON. asked_s, decided_s: wall clock, 0 before.
    epoch: the lease that took the decision up first, 0 before.
    """

    id: str
    thread_id: str
    place: str
    round: int
    proposal: object
    status: Status
    decided_by: str
    note: str
    asked_s: float
    decided_s: float
    epoch: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person said. proposal: what it was said of. answer: what the effect of `Step.propose` came
    to; None without one."""

    request: str
    approved: bool
    by: str
    note: str
    proposal: object
    answer: object = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a step asks.

    place: the key of the call. proposal: see `canonical`. anew: the policy, reapprove_on_resume.
    tell: target of the outbox whose sender tells a person; the message's key is the request's id.
    commits: key of the effect that is done on approval: once that is done, nobody is asked again.
    """

    place: str
    proposal: str
    anew: bool = False
    tell: str | None = None
    commits: str | None = None


class Interrupted(BaseException):
    """Unwinds a step whose execution was parked. Not an Exception: no agent's `except` is meant."""


class People:
    """The requests of one database. now: the wall clock, for what a person reads."""

    def __init__(self, database: Database, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._now = now

    def ask(self, lease: Lease, question: Question) -> "Future[Decision | None]":
        """Answered with the decision, or with None: the execution is parked now, and its lease gone.

        It fails with LeaseLost, and with ProposalChanged where a decision was on something else.
        """
        now_s = self._now()

        def do(transaction: Transaction) -> Decision | None:
            mine = held(lease)
            if not transaction.run(HELD + "{share}", mine).rows:
                # Carried out twice when a connection was lost at its commit.
                if transaction.run(_PARKED, {**mine, "epoch": lease.epoch}).rows:
                    return None
                raise lost(lease)
            found = transaction.run(_LATEST, {"place": question.place}).rows
            last = request(found[0]) if found else None
            if last is not None and last.status is not Status.PENDING:
                done = question.commits is not None and bool(
                    transaction.run(_COMMITTED, {"key": question.commits}).rows
                )
                if done or stands(last, question, lease):
                    transaction.run(_TAKE_UP, {"id": last.id, "epoch": lease.epoch})
                    return decision(last)
            if last is None or last.status is not Status.PENDING:
                _ask(transaction, lease, question, last.round + 1 if last else 1, now_s)
            transaction.run(_PARK, mine)
            return None

        return self._database.submit(Work(lease.thread_id, do))

    def decide(self, id: str, approved: bool, by: str, note: str = "") -> "Future[Request]":
        """Keep a decision and let the execution go on. It fails with NoRequest and AlreadyDecided; then
        nothing was changed."""
        verdict = Status.APPROVED if approved else Status.REJECTED
        row = {"id": id, "verdict": str(verdict), "by": by, "note": note, "decided": self._now()}

        def answer(done: Sequence[Done]) -> Request:
            changed, _, found = done
            if not found.rows:
                remedy = "list those that wait with `streamlanes durable pending`"
                raise NoRequest(None, f"it has no request {id!r}", remedy)
            now = request(found.rows[0])
            mine = (now.status, now.decided_by, now.decided_s) == (verdict, by, row["decided"])
            if changed.changed == 0 and not mine:
                at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now.decided_s))
                what = f"request {id} was {now.status} before, by {shown(now.decided_by)}, {at}"
                raise AlreadyDecided(now.thread_id, what, "nothing was changed")
            return now

        return self._database.submit(Write(None, ((_DECIDE, row), (_WAKE, row), (_ONE, row)), answer))

    def pending(self) -> Sequence[Request]:
        """Requests that nobody decided, the oldest first."""
        return [request(row) for row in self._database.read(_PENDING, {})]

    def of(self, thread_id: str) -> Sequence[Request]:
        """All requests of an execution, the oldest first."""
        return [request(row) for row in self._database.read(_OF, {"thread_id": thread_id})]


def stands(last: Request, question: Question, lease: Lease) -> bool:
    """Whether a decision is good for the one who asks now. Raises ProposalChanged."""
    same = canonical(last.thread_id, last.proposal) == question.proposal
    if question.anew:
        return same and (last.status is Status.REJECTED or last.epoch in {0, lease.epoch})
    if not same:
        what = f"request {last.id} was {last.status}, but the step proposes something else now"
        remedy = "make proposals of what `Step.call` gave, or ask with reapprove_on_resume"
        raise ProposalChanged(last.thread_id, what, remedy)
    return True


def canonical(thread_id: str, proposal: object) -> str:
    """A proposal's one text. Raises StateError where it cannot be kept."""
    kept = json.loads(encode(thread_id, proposal, "proposal"))
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def request(row: Row) -> Request:
    """A row of the table. Raises StateError for one that is damaged."""
    id, thread_id, place, round, text, status, *rest = row
    proposal = decode(thread_id, f"the proposal of request {id}", text)
    return Request(id, thread_id, place, round, proposal, Status(status), *rest)


def decision(of: Request) -> Decision:
    """What a request that was decided says."""
    return Decision(of.id, of.status is Status.APPROVED, of.decided_by, of.note, of.proposal)


def shown(text: str) -> str:
    """Somebody's text as it may be printed."""
    return "".join(each if each.isprintable() else "?" for each in text) or "nobody named"


def _ask(transaction: Transaction, lease: Lease, question: Question, number: int, now_s: float) -> None:
    """Keep a request, and the message that tells of it."""
    row = {
        "id": question.place if number == 1 else f"{question.place}.{number}",
        "thread_id": lease.thread_id,
        "place": question.place,
        "round": number,
        "proposal": question.proposal,
        "asked": now_s,
    }
    transaction.run(_ASK, row)
    if question.tell is not None:
        transaction.run(_TELL, {**row, "target": question.tell})
