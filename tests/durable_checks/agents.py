"""What an AgentQueue must do, whichever database it stands on."""

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from streamlanes.durable.agents.queue import AgentQueue
from streamlanes.durable.agents.rules import AgentError, BadReply, NoSuchAgent
from streamlanes.durable.agents.talk import Talk
from streamlanes.durable.agents.values import MAX_TEXT, Family, Letter, Mail, Reply, Stage, Wake
from streamlanes.durable.agents.work import ASKS, AgentWorker
from streamlanes.durable.database import Database, Work
from streamlanes.durable.errors import LeaseLost

LONG_S = 600.0
GROUPS = {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"]}
NOTHING = Reply((), None)
_PLACED = "SELECT name, team, admin FROM agents"


def queue_of(database: Database) -> AgentQueue:
    """A queue with two groups."""
    queue = AgentQueue(database)
    queue.enroll(GROUPS).result()
    return queue


def woken(queue: AgentQueue, name: str, text: str = "hello") -> Wake:
    """An agent that was written to and woken, alone."""
    queue.post(name, text, f"to-{name}-{text}").result()
    (wake,) = queue.take("w", 10, LONG_S).result()
    assert wake.agent == name
    return wake


def lapse(database: Database, name: str) -> None:
    """Let the lease of an agent's worker lapse."""
    template = "UPDATE agents SET due = {now} - 1 WHERE name = :name"
    database.submit(Work(None, lambda tx: tx.run(template, {"name": name}))).result()


class AgentChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

    def test_three_stages_and_the_whole_batch_at_once(self, database: Database):
        queue = queue_of(database)
        assert queue.take("w", 10).result() == [], "an agent without mail is nobody's work"
        for number in range(3):
            assert queue.post("a0", f"m{number}", f"k{number}").result()
        assert queue.busy() == 1
        (wake,) = queue.take("w", 10, LONG_S).result()
        assert (wake.agent, wake.number, wake.stage, wake.memory) == ("a0", 1, Stage.PROCESSING, None)
        assert [mail.text for mail in wake.batch] == ["m0", "m1", "m2"]
        assert queue.take("v", 10).result() == [], "one worker at a time"
        reply = Reply([Letter("a1", "x"), Letter("b0", "y"), Letter("a1", "z")], {"seen": 3})
        queue.answer(wake, reply).result()
        assert queue.tally().agents[Stage.RESPONSE] == 1
        assert queue.take("v", 10).result() == [], "what is in an out-queue is in no in-queue"
        queue.dispatch(wake).result()
        wakes = {one.agent: one for one in queue.take("w", 10, LONG_S).result()}
        assert wakes["a1"].batch == (Mail("a0", Family.CHAT, "x"), Mail("a0", Family.CHAT, "z"))
        assert wakes["b0"].batch == (Mail("a0", Family.ADMIN, "y"),)
        assert queue.memory("a0") == {"seen": 3}
        tally = queue.tally()
        assert (tally.wakes, tally.unread, tally.largest) == (3, 0, 3)
        assert tally.mail == {Family.CHAT: 2, Family.ADMIN: 1, Family.OUTSIDE: 3}

    def test_mail_that_comes_meanwhile_waits_for_the_next_wake_up(self, database: Database):
        queue = queue_of(database)
        wake = woken(queue, "a0")
        queue.post("a0", "later", "k2").result()
        queue.answer(wake, NOTHING).result()
        queue.post("a0", "later still", "k3").result()
        queue.dispatch(wake).result()
        (again,) = queue.take("w", 10, LONG_S).result()
        assert (again.number, {mail.text for mail in again.batch}) == (2, {"later", "later still"})

    def test_a_reply_is_checked_before_anything_of_it_is_kept(self, database: Database):
        queue = queue_of(database)
        wake = woken(queue, "a1")
        letters = [Letter("a0", "fine"), Letter("zz", "?"), Letter("b0", "!"), Letter("a1", "me")]
        with pytest.raises(BadReply) as error:
            queue.answer(wake, Reply(letters, 1)).result()
        assert error.value.faults == (
            "there is no agent zz",
            "b0 is in group b: only admins write there, to its admin",
            "a message to a1 itself belongs in its memory",
        )
        assert str(error.value).startswith("agent a1: there is no agent zz; b0 is in group b")
        with pytest.raises(BadReply, match="65,536 characters"):
            queue.answer(wake, Reply([Letter("a0", "x" * (MAX_TEXT + 1))], 1)).result()
        assert queue.tally().mail[Family.CHAT] == 0
        assert queue.memory("a1") is None
        queue.answer(wake, Reply(letters[:1], 1)).result()

    def test_a_message_to_nobody_is_one_line_and_nothing_is_lost(self, database: Database):
        queue = queue_of(database)
        with pytest.raises(NoSuchAgent, match=r"^agent zz: there is no such agent; enroll it in a group"):
            queue.post("zz", "hello", "k").result()
        with pytest.raises(NoSuchAgent, match="agent zz"):
            queue.memory("zz")
        with pytest.raises(AgentError, match="65,537 characters; send at most"):
            queue.post("a0", "x" * (MAX_TEXT + 1), "k")
        with pytest.raises(AgentError, match=r"^the agents: group c has 1 of them, and nobody there to chat"):
            queue.enroll({"c": ["c0"]})
        assert queue.tally().unread == 0
        assert queue.post("a0", "hello", "k").result()
        assert queue.enroll(GROUPS).result() == 0, "who is there stays"
        assert queue.enroll({"c": ["c0", "c1"]}).result() == 2

    @pytest.mark.parametrize(
        ("groups", "line"),
        [
            ({"c": ["c0", "a0"]}, "a0 is in group a and was named in group c; leave it where it is"),
            ({"a": ["x", "a0"]}, "group a has its admin a0 and was given x; name a0 first"),
            ({"a": ["a1", "a0"]}, "group a has its admin a0 and was given a1; name a0 first"),
            ({"a": ["x", "y"]}, "group a has its admin a0 and was given x; name a0 first"),
            (
                {"d": ["d0", "d1"], "b": ["b1", "b0"]},
                "group b has its admin b0 and was given b1; name b0 first",
            ),
        ],
    )
    def test_who_is_there_stays_in_its_group_and_a_group_has_one_admin(
        self, database: Database, groups: dict[str, list[str]], line: str
    ):
        queue = queue_of(database)
        with pytest.raises(AgentError) as error:
            queue.enroll(groups).result()
        assert str(error.value) == f"the agents: {line}"
        placed = {(team, name): admin for name, team, admin in database.read(_PLACED, {})}
        assert placed == {("a", "a0"): 1, ("a", "a1"): 0, ("a", "a2"): 0, ("b", "b0"): 1, ("b", "b1"): 0}
        assert queue.enroll({"a": ["a0", "x"]}).result() == 1, "a group may grow"

    def test_a_key_brings_one_message(self, database: Database):
        queue = queue_of(database)
        assert queue.post("a0", "hello", "k").result()
        assert not queue.post("a0", "hello", "k").result()
        (wake,) = queue.take("w", 1, LONG_S).result()
        assert len(wake.batch) == 1
        queue.answer(wake, NOTHING).result()
        queue.dispatch(wake).result()
        assert not queue.post("a0", "hello", "k").result(), "nor after it was read"
        assert queue.busy() == 0

    def test_a_worker_that_dies_leaves_the_batch_or_the_dispatch(self, database: Database):
        queue = queue_of(database)
        dead = woken(queue, "a0")
        queue.post("a0", "later", "k2").result()
        lapse(database, "a0")
        (wake,) = queue.take("w", 10, LONG_S).result()  # under the same name too
        assert (wake.number, wake.stage, wake.batch) == (1, Stage.PROCESSING, dead.batch)
        assert wake.key(0) == dead.key(0)
        for late in (queue.answer(dead, Reply([Letter("a1", "late")], 9)), queue.dispatch(dead)):
            with pytest.raises(LeaseLost):
                late.result()
        assert queue.beat(dead.lease).result() is False
        assert queue.park(dead, "late").result() is False
        queue.answer(wake, Reply([Letter("a1", "in time")], 1)).result()
        lapse(database, "a0")
        (rest,) = queue.take("w", 10, LONG_S).result()
        assert (rest.number, rest.stage, rest.memory) == (1, Stage.RESPONSE, 1)
        queue.dispatch(rest).result()
        with pytest.raises(LeaseLost):
            queue.dispatch(wake).result()
        found = {one.agent: [mail.text for mail in one.batch] for one in queue.take("w", 9, LONG_S).result()}
        assert found == {"a0": ["later"], "a1": ["in time"]}

    def test_a_change_that_is_asked_for_twice_is_made_once(self, database: Database):
        queue = queue_of(database)
        wake = woken(queue, "a0")
        for _ in range(2):
            queue.answer(wake, Reply([Letter("a1", "x")], 1)).result()
        for _ in range(2):
            queue.dispatch(wake).result()
        tally = queue.tally()
        assert (tally.mail[Family.CHAT], tally.unread) == (1, 1)

    def test_a_beat_keeps_the_agent(self, database: Database):
        queue = queue_of(database)
        wake = woken(queue, "a0")
        assert queue.beat(wake.lease).result() is True
        queue.answer(wake, NOTHING).result()
        assert queue.beat(wake.lease).result() is True
        queue.dispatch(wake).result()
        assert queue.beat(wake.lease).result() is False, "an agent that is idle is nobody's"

    def test_each_agent_is_taken_once(self, database: Database):
        queue = AgentQueue(database)
        names = [f"n{number}" for number in range(40)]
        queue.enroll({"n": names}).result()
        for name in names:
            queue.post(name, "go", name).result()
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda n: queue.take(f"w{n}", 7, LONG_S).result(), range(16)))
        assert Counter(wake.agent for wakes in found for wake in wakes) == Counter(names)

    def test_a_group_carries_its_task_out(self, database: Database):
        queue, talk = AgentQueue(database), Talk([4, 3, 2])
        queue.enroll(talk.groups()).result()
        queue.post(talk.first, "task", "t").result()
        asyncio.run(AgentWorker(queue, talk).run())
        tally = queue.tally()
        assert tally.mail == talk.messages()
        assert (queue.memory(talk.first)["done"], tally.unread, queue.parked()) == (True, 0, {})

    def test_two_workers_share_the_work_and_one_ends_when_all_is_quiet(self, database: Database):
        queue, talk = AgentQueue(database), Talk([4, 4, 4])
        queue.enroll(talk.groups()).result()
        queue.post(talk.first, "task", "t").result()

        async def both() -> list[int]:
            workers = [AgentWorker(queue, talk, owner=name, places=2, poll_s=0.01) for name in "wv"]
            return [worked.wakes for worked in await asyncio.gather(*(one.run() for one in workers))]

        assert sum(asyncio.run(both())) == queue.tally().wakes
        assert queue.tally().mail == talk.messages()

    def test_a_bad_reply_is_asked_for_again_and_a_bug_parks_the_agent(self, database: Database):
        queue = queue_of(database)
        asked: list[tuple[str, ...]] = []

        async def handler(wake: Wake, faults: Sequence[str]) -> Reply:
            if wake.agent == "b1":
                raise ValueError("no idea")
            asked.append(tuple(faults))
            fine = bool(faults)
            if wake.agent != "a0":
                return Reply((), object())
            return Reply([Letter("a1" if fine else "zz", "x")], None)

        for name in ("a0", "a2", "b1"):
            queue.post(name, "go", name).result()
        worked = asyncio.run(AgentWorker(queue, handler, places=1).run())
        assert ("there is no agent zz",) in asked
        assert queue.parked() == {
            "a1": f"asked {ASKS} times: memory is of type object, which cannot be kept",
            "a2": f"asked {ASKS} times: memory is of type object, which cannot be kept",
            "b1": "ValueError: no idea",
        }
        assert (worked.parked, worked.wakes) == (3, 1)
        assert queue.retry("b1").result()
        assert not queue.retry("a0").result()
        (wake,) = queue.take("w", 10, LONG_S).result()
        assert (wake.agent, wake.number, [mail.text for mail in wake.batch]) == ("b1", 1, ["go"])

    def test_idle_agents_hold_no_thread_and_no_task(self, database: Database):
        queue, talk = AgentQueue(database), Talk([5] * 20)
        queue.enroll(talk.groups()).result()
        seen: list[tuple[int, int]] = []

        async def handler(wake: Wake, faults: Sequence[str]) -> Reply:
            seen.append((threading.active_count(), len(asyncio.all_tasks())))
            return await talk(wake, faults)

        queue.post(talk.first, "task", "t").result()
        before = threading.active_count()
        worked = asyncio.run(AgentWorker(queue, handler, places=5).run())
        assert max(threads for threads, _ in seen) == before + 1, "the heart"
        assert max(tasks for _, tasks in seen) <= 5 + 2, "five awake, the loop and what it waits with"
        assert worked.awake == 5
