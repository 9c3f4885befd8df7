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

from streamlanes.durable.agents.rules import (
    AgentError,
    BadReply,
    NoSuchAgent,
    check_enrolled,
    checked_groups,
    family,
    faults,
)
from streamlanes.durable.agents.spending import FREE, HELD_BACK, spending
from streamlanes.durable.agents.values import MAX_LETTERS, MAX_TEXT, Family, Mail, Member, Reply, Stage, Wake
from streamlanes.durable.database import Database, Done, Params, Row, Transaction, Work, Write
from streamlanes.durable.fence import lost
from streamlanes.durable.leases import LEASE_S
from streamlanes.durable.state import decode, encode
from streamlanes.durable.tracing import Trace
from streamlanes.durable.values import Lease

FAR_S = 1200.0
"""Nobody keeps how long an agent's lease is: one that reaches further ahead than this was taken before the
clock was set back, as SQLite's is when the machine starts."""

_ENROLL = """INSERT INTO agents (name, team, admin, stage, waiting, wake, token, due, fault, memory, reply)
VALUES (:name, :team, :admin, 'idle', 0, 0, '', NULL, '', 'null', '') ON CONFLICT DO NOTHING"""
_MEMBERS = "SELECT name, team, admin FROM agents"
_MEMBER = f"{_MEMBERS} WHERE name = :name"

# An idle agent's mail came in the past, whatever the clock says now.
_TAKE = f"""WITH picked AS MATERIALIZED (
    SELECT name FROM agents
    WHERE due IS NOT NULL AND (stage = 'idle' OR due <= {{now}} OR due > {{now}} + :beyond_s) AND {FREE}
    ORDER BY due LIMIT :most{{skip}})
UPDATE agents SET token = :token, due = {{now}} + :lease_s,
    wake = wake + CASE stage WHEN 'idle' THEN 1 ELSE 0 END,
    stage = CASE stage WHEN 'idle' THEN 'taken' ELSE stage END
WHERE name IN (SELECT name FROM picked) AND NOT EXISTS (SELECT 1 FROM agents WHERE token = :token)"""
# Who was idle is `taken` for the rest of the transaction: the others have their batch already.
_BATCH = """UPDATE mail SET place = 'read', wake = (SELECT wake FROM agents WHERE name = recipient)
WHERE wake = 0 AND place = 'in' AND recipient IN (
    SELECT name FROM agents WHERE token = :token AND stage = 'taken')"""
_WOKEN = "UPDATE agents SET stage = 'processing', waiting = 0 WHERE token = :token AND stage = 'taken'"
_MINE = "SELECT name, stage, wake, memory FROM agents WHERE token = :token ORDER BY name"
_MAIL = """SELECT a.name, m.sender, m.family, m.text
FROM agents a JOIN mail m ON m.recipient = a.name AND m.wake = a.wake
WHERE a.token = :token AND m.place = 'read' ORDER BY a.name, m.sender, m.sent, m.key"""

_FENCE = "WHERE name = :name AND token = :token AND due > {now}"
_ANSWER = (
    "UPDATE agents SET stage = 'response', memory = :memory, reply = :reply "
    + _FENCE
    + " AND stage = 'processing'"
)
# reply is drawn anew for each answer: of two, what was kept first stays.
_WRITE = """INSERT INTO mail (key, sender, sent, recipient, family, place, wake, text)
SELECT :key, :sender, :sent, :to, :family, 'out', 0, :text FROM agents
WHERE name = :sender AND token = :token AND reply = :reply ON CONFLICT DO NOTHING"""
_MAY_DISPATCH = """EXISTS (SELECT 1 FROM agents me
    WHERE me.name = :name AND me.token = :token AND me.stage = 'response' AND me.due > {now}{share})"""
# Always changes the recipient's row, whatever its stage: so mail that comes while the recipient settles
# is counted before or after, never overlooked.
_ARRIVE = f"""UPDATE agents SET waiting = waiting + (
        SELECT count(*) FROM mail WHERE sender = :name AND place = 'out' AND recipient = agents.name),
    due = CASE WHEN stage = 'idle' THEN coalesce(due, {{now}}) ELSE due END
WHERE name IN (SELECT recipient FROM mail WHERE sender = :name AND place = 'out') AND {_MAY_DISPATCH}"""
_DISPATCH = f"UPDATE mail SET place = 'in' WHERE sender = :name AND place = 'out' AND {_MAY_DISPATCH}"
_SETTLE = (
    "UPDATE agents SET stage = 'idle', due = CASE WHEN waiting > 0 THEN {now} ELSE NULL END "
    + _FENCE
    + " AND stage = 'response'"
)
_POST = """INSERT INTO mail (key, sender, sent, recipient, family, place, wake, text)
VALUES (:key, '', 0, :to, 'outside', 'in', 0, :text) ON CONFLICT DO NOTHING"""
_POSTED = """UPDATE agents SET waiting = waiting + 1,
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
    """The queues of one database. Futures are answered when durable.

    trace: its workers keep a span of every wake-up in it, and of every reply that an agent was asked for.
    """

    def __init__(self, database: Database, trace: Trace | None = None) -> None:
        self.trace = trace
        self._database = database
        self._members: dict[str, Member] = {}
        self.durability = database.durability

    def enroll(self, groups: Mapping[str, Iterable[str]]) -> "Future[int]":
        """Have these agents, in these groups, the first of each its admin; answered with how many are
        new. One that is there stays as it is, and no group gets a second admin: where that is asked, it
        fails with AgentError, and nothing is changed. Raises AgentError for a group of one."""
        asked = checked_groups(groups)

        def do(transaction: Transaction) -> int:
            # Two that looked before either was there would both give the same group an admin.
            transaction.run("{alone}", {})
            new = 0
            for name, member in asked.items():
                row = {"name": name, "team": member.group, "admin": int(member.admin)}
                new += transaction.run(_ENROLL, row).changed
            check_enrolled(asked, _placed(transaction.run(_MEMBERS, {}).rows))
            return new

        return self._database.submit(Work(None, do))

    def post(self, to: str, text: str, key: str) -> "Future[bool]":
        """Write to an agent from outside; answered with whether the key is new. Fails with NoSuchAgent."""
        if len(text) > MAX_TEXT:
            remedy = f"send at most {MAX_TEXT:,} in one"
            raise AgentError(to, f"a message of {len(text):,} characters", remedy)

        def do(transaction: Transaction) -> bool:
            if not transaction.run(_MEMBER, {"name": to}).rows:
                raise _none(to)
            letter = {"key": f"/{key}", "to": to, "text": text}
            if not transaction.run(_POST, letter).changed:
                return False
            transaction.run(_POSTED, {"to": to})
            return True

        return self._database.submit(Work(to, do))

    def take(self, owner: str, most: int = 1, lease_s: float = LEASE_S) -> "Future[list[Wake]]":
        """Wake up to `most` agents that have mail, or whose worker let them lapse, and that no cap keeps
        from it. Each agent is one worker's at a time. A lease that reaches further ahead than FAR_S, and
        than twice `lease_s`, counts as lapsed."""
        token = secrets.token_hex(8)
        beyond_s = max(FAR_S, 2.0 * lease_s)
        asked = {"token": token, "most": most, "lease_s": float(lease_s), "beyond_s": beyond_s}

        def answer(done: Sequence[Done]) -> list[Wake]:
            *_, mine, mail = done
            batches: dict[str, list[Mail]] = {}
            for name, sender, kind, text in mail.rows:
                batches.setdefault(name, []).append(Mail(sender, Family(kind), text))
            return [
                Wake(
                    name,
                    wake,
                    Stage(stage),
                    tuple(batches.get(name, ())),
                    decode(name, "its memory", memory),
                    Lease(name, owner, token, wake, lease_s),
                )
                for name, stage, wake, memory in mine.rows
            ]

        templates = (_TAKE, _BATCH, _WOKEN, _MINE, _MAIL)
        return self._database.submit(Write(None, tuple((each, asked) for each in templates), answer))

    def answer(self, wake: Wake, reply: Reply, asked: int = 1) -> "Future[None]":
        """Keep the reply, and what it cost: Processing to Response. asked: how often it was asked for.

        Fails with BadReply, and nothing is kept, where it must not be dispatched; with LeaseLost where the
        agent went to another worker.
        """
        by = self._member(wake.agent)
        assert by is not None, "an agent that was woken is there"
        wrong = faults(wake.agent, by, reply, self._member)
        if wrong:
            refused: Future[None] = Future()
            refused.set_exception(BadReply(wake.agent, "; ".join(wrong), "nothing of this reply was kept"))
            return refused
        drawn = {**_held(wake), "reply": secrets.token_hex(8)}
        memory = encode(wake.agent, reply.memory, "memory").decode()
        statements = [*spending(wake, reply, asked), (_ANSWER, {**drawn, "memory": memory})]
        for place, letter in enumerate(reply.letters):
            row = {
                "key": f"{quote(wake.agent, safe='')}/{wake.number}/{place}",
                "sender": wake.agent,
                "sent": wake.number * MAX_LETTERS + place,
                "to": letter.to,
                "family": family(wake.agent, by, letter.to, self._members[letter.to]),
                "text": letter.text,
            }
            statements.append((_WRITE, {**drawn, **row}))
        return self._change(wake, statements, Stage.RESPONSE)

    def dispatch(self, wake: Wake) -> "Future[None]":
        """Hand the out-queue to the in-queues of the others: Response to Idle, and on to the next
        wake-up where mail came meanwhile. Fails with LeaseLost."""
        mine = _held(wake)
        return self._change(wake, [(_ARRIVE, mine), (_DISPATCH, mine), (_SETTLE, mine)], Stage.IDLE)

    def beat(self, lease: Lease) -> "Future[bool]":
        """Renew a wake-up's lease; answered with False when it is lost. See heart.Heart."""
        return self._touch(_BEAT, lease, {"lease_s": lease.lease_s}, urgent=True)

    def park(self, wake: Wake, fault: str) -> "Future[bool]":
        """Wake the agent no more, and say why. Its batch and its in-queue stay; see `retry`."""
        return self._touch(_PARK, wake.lease, {"fault": " ".join(fault.split())[:1000]})

    def retry(self, name: str) -> "Future[bool]":
        """Wake a parked agent again, with the same batch; answered with whether it was parked."""
        return self._database.submit(Write(name, ((_RETRY, {"name": name}),), _changed))

    def busy(self) -> int:
        """Agents with something to do or being worked on; 0 when all is quiet."""
        return int(self._database.read(_BUSY, {})[0][0])

    def held_back(self) -> int:
        """Those of them that a cap keeps from being woken."""
        return int(self._database.read(HELD_BACK, {})[0][0])

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

    def _member(self, name: str) -> Member | None:
        """An agent's place. One that was found is remembered: it never changes, and never goes."""
        if name not in self._members:
            rows = self._database.read(_MEMBER if self._members else _MEMBERS, {"name": name})
            self._members |= _placed(rows)
        return self._members.get(name)

    def _change(self, wake: Wake, statements: Sequence[tuple[str, Params]], then: Stage) -> "Future[None]":
        """A change of stage. It may be made twice, its answer lost on the way: what counts is where the
        agent stands after it, under this wake-up's token."""

        def answer(done: Sequence[Done]) -> None:
            if [str(stage) for (stage,) in done[-1].rows] != [then]:
                raise lost(wake.lease)

        last = (_STAGE, _held(wake))
        return self._database.submit(Write(wake.agent, (*statements, last), answer))

    def _touch(self, template: str, lease: Lease, params: Params, *, urgent: bool = False) -> "Future[bool]":
        mine = {"name": lease.thread_id, "token": lease.token}
        statements = ((template, {**mine, **params}),)
        return self._database.submit(Write(lease.thread_id, statements, _changed, urgent))


def _placed(rows: Iterable[Row]) -> dict[str, Member]:
    return {str(name): Member(str(group), bool(admin)) for name, group, admin in rows}


def _none(name: str) -> NoSuchAgent:
    return NoSuchAgent(name, "there is no such agent", "enroll it in a group, or name another")


def _held(wake: Wake) -> dict[str, object]:
    return {"name": wake.agent, "token": wake.lease.token}


def _changed(done: Sequence[Done]) -> bool:
    return done[0].changed == 1
