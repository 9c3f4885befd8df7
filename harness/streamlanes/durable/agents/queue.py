"""AgentQueue: agents with an in-queue and an out-queue each, and three stages.

             take                     answer                  dispatch
    Idle ------------> Processing ------------> Response ------------> Idle
     the whole in-queue            the reply, checked,      out-queue into the
     becomes the batch             fills the out-queue      in-queues of others

Each arrow is one transaction. A worker that dies leaves the agent where the last one put it; its
lease lapses, and whoever takes the agent next has the same batch, or only the dispatch, to do.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from urllib.parse import quote

from streamlanes.durable.agents.rules import AgentError, BadReply, NoSuchAgent, checked_groups, family, faults
from streamlanes.durable.agents.values import MAX_LETTERS, MAX_TEXT, Family, Mail, Member, Reply, Stage, Wake
from streamlanes.durable.database import Database, Done, Params, Transaction, Work, Write
from streamlanes.durable.fence import lost
from streamlanes.durable.leases import LEASE_S
from streamlanes.durable.state import decode, encode
from streamlanes.durable.values import Lease

_ENROLL = """INSERT INTO agents (name, team, admin, stage, waiting, wake, token, due, fault, memory)
VALUES (:name, :team, :admin, 'idle', 0, 0, '', NULL, '', 'null') ON CONFLICT DO NOTHING"""
_MEMBER = "SELECT team, admin FROM agents WHERE name = :name"

# An idle agent's mail came in the past, whatever the clock says now.
_DUE = """SELECT name, stage, wake, memory FROM agents
WHERE due IS NOT NULL AND (stage = 'idle' OR due <= {now}) ORDER BY due LIMIT :most{skip}"""
_TAKE = """UPDATE agents SET stage = :stage, wake = :wake, token = :token, due = {now} + :lease_s,
    waiting = CASE stage WHEN 'idle' THEN 0 ELSE waiting END
WHERE name = :name"""
_TAKEN = "SELECT stage, wake, memory FROM agents WHERE name = :name AND token = :token AND due > {now}"
_BATCH = "UPDATE mail SET place = 'read', wake = :wake WHERE recipient = :name AND wake = 0 AND place = 'in'"
_MAIL = """SELECT sender, family, text FROM mail
WHERE recipient = :name AND wake = :wake AND place = 'read' ORDER BY sender, sent, key"""

_FENCE = "WHERE name = :name AND token = :token AND due > {now}"
_ANSWER = "UPDATE agents SET stage = 'response', memory = :memory " + _FENCE + " AND stage = 'processing'"
_WRITE = """INSERT INTO mail (key, sender, sent, recipient, family, place, wake, text)
VALUES (:key, :sender, :sent, :to, :family, :place, 0, :text) ON CONFLICT DO NOTHING"""
_SETTLE = (
    """UPDATE agents SET stage = 'idle', due = CASE WHEN waiting > 0 THEN {now} ELSE NULL END
"""
    + _FENCE
    + " AND stage = 'response'"
)
_OUT = """SELECT recipient, count(*) FROM mail WHERE sender = :name AND place = 'out'
GROUP BY recipient ORDER BY recipient"""
_DISPATCH = "UPDATE mail SET place = 'in' WHERE sender = :name AND place = 'out'"
# Always changes the recipient's row, whatever its stage: so mail that comes while the recipient settles
# is counted before or after, never overlooked.
_ARRIVE = """UPDATE agents SET waiting = waiting + :count,
    due = CASE WHEN stage = 'idle' THEN coalesce(due, {now}) ELSE due END
WHERE name = :to"""
_STAGE = "SELECT stage FROM agents WHERE name = :name AND token = :token"
_BEAT = "UPDATE agents SET due = {now} + :lease_s " + _FENCE + " AND stage <> 'idle'"
_PARK = "UPDATE agents SET due = NULL, fault = :fault " + _FENCE + " AND stage <> 'idle'"
_RETRY = "UPDATE agents SET due = {now}, fault = '' WHERE name = :name AND fault <> ''"

_BUSY = "SELECT count(*) FROM agents WHERE due IS NOT NULL"
_PARKED = "SELECT name, fault FROM agents WHERE fault <> '' ORDER BY name"
_STAGES = "SELECT stage, count(*), sum(wake) FROM agents GROUP BY stage"
_PLACES = "SELECT family, place, count(*) FROM mail GROUP BY family, place"
_MEMORY = "SELECT memory FROM agents WHERE name = :name"
_LARGEST = """SELECT max(size) FROM (
    SELECT count(*) AS size FROM mail WHERE place = 'read' GROUP BY recipient, wake) AS batches"""


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened so far, counted in the tables.

    agents: by stage. wakes: wake-ups begun; one that is done again counts once. mail: messages by
    family. unread: those that no wake-up has taken. largest: messages in the largest batch.
    """

    agents: Mapping[Stage, int]
    wakes: int
    mail: Mapping[Family, int]
    unread: int
    largest: int


class AgentQueue:
    """The queues of one database. Futures are answered when durable."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._members: dict[str, Member] = {}
        self.durability = database.durability

    def enroll(self, groups: Mapping[str, Iterable[str]]) -> "Future[int]":
        """Have these agents, in these groups, the first of each its admin; answered with how many are
        new. One that is there stays as it is. Raises AgentError for a group of one."""
        rows = [
            (_ENROLL, {"name": name, "team": member.group, "admin": int(member.admin)})
            for name, member in checked_groups(groups).items()
        ]
        return self._database.submit(Write(None, tuple(rows), lambda done: sum(one.changed for one in done)))

    def post(self, to: str, text: str, key: str) -> "Future[bool]":
        """Write to an agent from outside; answered with whether the key is new. Fails with NoSuchAgent."""
        if len(text) > MAX_TEXT:
            remedy = f"send at most {MAX_TEXT:,} in one"
            raise AgentError(to, f"a message of {len(text):,} characters", remedy)

        def do(transaction: Transaction) -> bool:
            if self._member(transaction, to) is None:
                raise _none(to)
            letter = {"key": f"/{key}", "sender": "", "sent": 0, "to": to, "family": Family.OUTSIDE}
            if not transaction.run(_WRITE, {**letter, "place": "in", "text": text}).changed:
                return False
            transaction.run(_ARRIVE, {"to": to, "count": 1})
            return True

        return self._database.submit(Work(to, do))

    def take(self, owner: str, most: int = 1, lease_s: float = LEASE_S) -> "Future[list[Wake]]":
        """Wake up to `most` agents that have mail, or whose worker let them lapse. Each agent is one
        worker's at a time."""
        before: list[Wake] = []

        def do(transaction: Transaction) -> list[Wake]:
            # Carried out twice where a connection was lost at its commit: what it took is still there.
            kept = [wake for wake in before if transaction.run(_TAKEN, _held(wake)).rows]
            if kept:
                return kept
            rows = transaction.run(_DUE, {"most": most}).rows
            before[:] = [self._taken(transaction, owner, lease_s, *row) for row in rows]
            return list(before)

        return self._database.submit(Work(None, do))

    def answer(self, wake: Wake, reply: Reply) -> "Future[None]":
        """Keep the reply: Processing to Response. Fails with BadReply, and nothing is kept, where it must
        not be dispatched; with LeaseLost where the agent went to another worker."""
        memory = encode(wake.agent, reply.memory, "memory").decode() if isinstance(reply, Reply) else ""

        def do(transaction: Transaction) -> None:
            by = self._member(transaction, wake.agent)
            assert by is not None, "an agent that was woken is there"
            wrong = faults(wake.agent, by, reply, lambda name: self._member(transaction, name))
            if wrong:
                raise BadReply(wake.agent, "; ".join(wrong), "nothing of this reply was kept")
            if not transaction.run(_ANSWER, {**_held(wake), "memory": memory}).changed:
                return _made_before(transaction, wake, Stage.RESPONSE)
            for place, letter in enumerate(reply.letters):
                at = self._members[letter.to]
                row = {
                    "key": f"{quote(wake.agent, safe='')}/{wake.number}/{place}",
                    "sender": wake.agent,
                    "sent": wake.number * MAX_LETTERS + place,
                    "to": letter.to,
                    "family": family(wake.agent, by, letter.to, at),
                }
                transaction.run(_WRITE, {**row, "place": "out", "text": letter.text})
            return None

        return self._database.submit(Work(wake.agent, do))

    def dispatch(self, wake: Wake) -> "Future[None]":
        """Hand the out-queue to the in-queues of the others: Response to Idle, and on to the next
        wake-up where mail came meanwhile. Fails with LeaseLost."""

        def do(transaction: Transaction) -> None:
            if not transaction.run(_SETTLE, _held(wake)).changed:
                return _made_before(transaction, wake, Stage.IDLE)
            letters = transaction.run(_OUT, {"name": wake.agent}).rows
            transaction.run(_DISPATCH, {"name": wake.agent})
            for recipient, count in letters:
                transaction.run(_ARRIVE, {"to": recipient, "count": count})
            return None

        return self._database.submit(Work(wake.agent, do))

    def beat(self, lease: Lease) -> "Future[bool]":
        """Renew a wake-up's lease; answered with False when it is lost. See heart.Heart."""
        return self._touch(_BEAT, lease, {"lease_s": lease.lease_s})

    def park(self, wake: Wake, fault: str) -> "Future[bool]":
        """Wake the agent no more, and say why. Its batch and its in-queue stay; see `retry`."""
        return self._touch(_PARK, wake.lease, {"fault": " ".join(fault.split())[:1000]})

    def retry(self, name: str) -> "Future[bool]":
        """Wake a parked agent again, with the same batch; answered with whether it was parked."""
        return self._database.submit(Write(name, ((_RETRY, {"name": name}),), _changed))

    def busy(self) -> int:
        """Agents with something to do or being worked on; 0 when all is quiet."""
        return int(self._database.read(_BUSY, {})[0][0])

    def parked(self) -> dict[str, str]:
        """Agents that wait for a person, and why."""
        return {str(name): str(fault) for name, fault in self._database.read(_PARKED, {})}

    def memory(self, name: str) -> object:
        """What an agent remembers. Raises NoSuchAgent."""
        rows = self._database.read(_MEMORY, {"name": name})
        if not rows:
            raise _none(name)
        return decode(name, "its memory", rows[0][0])

    def tally(self) -> Tally:
        """Counts of all there is."""
        stages = self._database.read(_STAGES, {})
        places = self._database.read(_PLACES, {})
        mail = {one: sum(int(n) for kind, _, n in places if kind == one) for one in Family}
        return Tally(
            {stage: sum(int(n) for one, n, _ in stages if one == stage) for stage in Stage},
            sum(int(wakes) for _, _, wakes in stages),
            mail,
            sum(int(n) for _, place, n in places if place != "read"),
            int(self._database.read(_LARGEST, {})[0][0] or 0),
        )

    def _taken(
        self,
        transaction: Transaction,
        owner: str,
        lease_s: float,
        name: str,
        stage: str,
        wake: int,
        memory: str,
    ) -> Wake:
        fresh = stage == Stage.IDLE
        now = Stage.PROCESSING if fresh else Stage(stage)
        lease = Lease(name, owner, secrets.token_hex(8), wake + fresh, lease_s)
        mine = {"name": name, "wake": lease.epoch}
        transaction.run(_TAKE, {**mine, "token": lease.token, "stage": now, "lease_s": float(lease_s)})
        if fresh:
            transaction.run(_BATCH, mine)
        rows = transaction.run(_MAIL, mine).rows
        batch = tuple(Mail(sender, Family(kind), text) for sender, kind, text in rows)
        return Wake(name, lease.epoch, now, batch, decode(name, "its memory", memory), lease)

    def _member(self, transaction: Transaction, name: str) -> Member | None:
        """An agent's place. One that was found is remembered: it never changes."""
        if name not in self._members:
            rows = transaction.run(_MEMBER, {"name": name}).rows
            if not rows:
                return None
            self._members[name] = Member(str(rows[0][0]), bool(rows[0][1]))
        return self._members[name]

    def _touch(self, template: str, lease: Lease, params: Params) -> "Future[bool]":
        mine = {"name": lease.thread_id, "token": lease.token}
        return self._database.submit(Write(lease.thread_id, ((template, {**mine, **params}),), _changed))


def _made_before(transaction: Transaction, wake: Wake, stage: Stage) -> None:
    """Nothing was changed: right where this very change was made before and its answer lost."""
    if [str(one) for (one,) in transaction.run(_STAGE, _held(wake)).rows] != [stage]:
        raise lost(wake.lease)


def _none(name: str) -> NoSuchAgent:
    return NoSuchAgent(name, "there is no such agent", "enroll it in a group, or name another")


def _held(wake: Wake) -> dict[str, object]:
    return {"name": wake.agent, "token": wake.lease.token}


def _changed(done: Sequence[Done]) -> bool:
    return done[0].changed == 1
