"""What caps must do to agents, whichever database their queue stands on."""

import asyncio
from collections.abc import Sequence

import pytest

from durable_checks.agents import LONG_S, lapse, queue_of, woken
from streamlanes.durable.agents.rules import BadReply
from streamlanes.durable.agents.values import Handler, Reply, Wake
from streamlanes.durable.agents.work import AgentWorker
from streamlanes.durable.caps import STORE, Cap, Caps
from streamlanes.durable.database import Database
from streamlanes.durable.effects import Effects
from streamlanes.durable.errors import CapReached, LeaseLost


def spends(tokens: int) -> Handler:
    """An agent that says nothing, for so many tokens and half a dollar."""

    async def handler(wake: Wake, faults: Sequence[str]) -> Reply:
        return Reply((), None, tokens, 0, 0.5)

    return handler


class AgentCapChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

    def test_a_cap_of_nothing_wakes_nobody_and_loses_nothing(self, database: Database):
        queue, caps = queue_of(database), Caps(database)
        queue.post("a0", "go", "k").result()
        caps.set(STORE, 0, None).result()
        assert queue.take("w", 10, LONG_S).result() == []
        worker = AgentWorker(queue, spends(100))
        with pytest.raises(CapReached, match="the store: 1 agents have mail and a cap on what may be spent"):
            asyncio.run(worker.run())
        assert worker.worked.wakes == 0
        caps.lift(STORE).result()
        assert asyncio.run(worker.run()).wakes == 1

    def test_replies_count_against_caps_until_one_is_reached(self, database: Database):
        queue, caps = queue_of(database), Caps(database)
        caps.set(STORE, 250, None).result()
        for number in range(5):
            queue.post("a0", "go", f"k{number}").result()
            worker = AgentWorker(queue, spends(100))
            if number < 3:
                asyncio.run(worker.run())
            else:
                with pytest.raises(CapReached):
                    asyncio.run(worker.run())
        assert caps.all() == [Cap(STORE, 250, None, 300, 1.5)]
        assert [(each.key, each.attempt, each.status) for each in Effects(database).ledger("a0")] == [
            (f"a0/{number}/reply", 1, "done") for number in (1, 2, 3)
        ]
        caps.set(STORE, 1000, None).result()
        assert asyncio.run(AgentWorker(queue, spends(100)).run()).wakes == 1, "both messages at once"

    def test_a_cap_is_of_one_agent_and_counts_what_it_spent_before(self, database: Database):
        queue, caps = queue_of(database), Caps(database)
        queue.post("a0", "go", "k1").result()
        asyncio.run(AgentWorker(queue, spends(100)).run())
        caps.set("a0", None, 0.5).result()
        assert [(cap.scope, cap.tokens, cap.reached) for cap in caps.all()] == [("a0", 100, True)]
        queue.post("a0", "go", "k2").result()
        queue.post("b0", "go", "k3").result()
        worker = AgentWorker(queue, spends(100))
        with pytest.raises(CapReached, match="1 agents"):
            asyncio.run(worker.run())
        assert worker.worked.wakes == 1, "b0's"

    def test_a_reply_that_is_kept_twice_is_counted_once(self, database: Database):
        """As when a connection is lost at the commit and the same is sent again."""
        queue, caps = queue_of(database), Caps(database)
        caps.set(STORE, 1000, None).result()
        reply = Reply((), None, 7, 3)
        late = woken(queue, "a0")
        lapse(database, "a0")
        with pytest.raises(LeaseLost):
            queue.answer(late, reply).result()
        assert caps.all()[0].tokens == 0, "nobody knows what a lost worker spent"
        (wake,) = queue.take("v", 10, LONG_S).result()
        for _ in range(2):
            queue.answer(wake, reply).result()
        assert caps.all()[0].tokens == 10
        assert len(Effects(database).ledger("a0")) == 1

    @pytest.mark.parametrize("cost", [(-1, 0, 0.0), (0, 1 << 60, 0.0), (0, 0, float("nan")), ("1", 0, 0.0)])
    def test_a_cost_that_is_none_is_refused(self, database: Database, cost: tuple[int, int, float]):
        queue = queue_of(database)
        wake = woken(queue, "a0")
        with pytest.raises(BadReply, match="what it cost is no number of tokens and dollars"):
            queue.answer(wake, Reply((), None, *cost)).result()
