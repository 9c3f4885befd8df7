"""What effects in workflows must do, whichever database the log stands on."""

import asyncio
import contextlib

import pytest

from replay_world import AT_ONCE, Died, World, kinds, log
from streamlanes.durable.activities import guarded
from streamlanes.durable.caps import STORE, Cap
from streamlanes.durable.database import Database
from streamlanes.durable.effects import Answer, Effect, Guard
from streamlanes.durable.errors import ActivityFailed, CapReached, DurableError, InDoubt, Misplaced
from streamlanes.durable.points import Point, watch
from streamlanes.durable.replay import EventLog, run_or_replay


class GuardedChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

    def test_a_guarded_effect_is_in_the_ledger_and_under_the_caps(self, database: Database):
        worker, at = log(database)
        spent: list[str] = []

        def answer(key: str, payload: object) -> Answer:
            spent.append(key)
            return Answer(payload, 60, 40, 0.5)

        think = guarded(Effect("think", answer))

        def thinks() -> list[object]:
            return [think(number) for number in range(4)]

        worker.caps.set(STORE, 250, None).result()
        with pytest.raises(CapReached, match=r"execution a: the store spent 300 tokens and 1\.50 USD"):
            run_or_replay(thinks, at)
        assert (len(spent), worker.leases.status("a"), worker.leases.standing()) == (3, "capped", 0)
        with pytest.raises(CapReached, match="stopped it; raise the cap"):
            run_or_replay(thinks, at)
        assert len(spent) == 3
        assert worker.caps.set(STORE, 1000, None).result() == 1
        assert run_or_replay(thinks, at) == [0, 1, 2, 3]
        assert run_or_replay(thinks, at) == [0, 1, 2, 3], "in replay too"
        assert spent == [f"a/0/{call}" for call in (1, 2, 3, 4)]
        assert [each.status for each in worker.effects.ledger("a")] == ["done"] * 4
        assert worker.caps.all() == [Cap(STORE, 1000, None, 400, 2.0)]
        worker.close()

    def test_a_guarded_effect_that_was_recorded_is_not_done_again(self, database: Database):
        """Its worker dies when the effect's answer is kept and the log does not have it yet."""
        worker, at = log(database)
        done: list[object] = []
        pay = guarded(Effect("pay", lambda _, usd: done.append(usd) or Answer(f"paid {usd}")))

        def pays() -> object:
            return pay(7)

        def dies(point: Point) -> None:
            if point is Point.BEFORE_CHECKPOINT:
                raise Died

        watch(dies)
        try:
            with pytest.raises(Died):
                run_or_replay(pays, at)
        finally:
            watch(None)
        assert run_or_replay(pays, at) == "paid 7"
        assert done == [7]
        assert kinds(database) == ["session", "scheduled", "session", "again", "completed", "ended"]
        worker.close()

    def test_a_doubt_or_a_cap_stops_code_that_swallows_it(self, database: Database):
        worker, at = log(database)

        def fails(key: str, payload: object) -> Answer:
            raise OSError("lost")

        pay = guarded(Effect("pay", fails, Guard.NONE))
        do = World().doing("do")

        def swallows() -> object:
            with contextlib.suppress(DurableError):
                pay(7)
            return do()

        with pytest.raises(InDoubt, match="nobody knows whether effect pay a/0/1 happened"):
            run_or_replay(swallows, at)
        worker.caps.set(STORE, 0, None).result()
        pay = guarded(Effect("pay", fails))
        with pytest.raises(CapReached):
            run_or_replay(swallows, EventLog(worker, "b"))
        assert "completed" not in kinds(database) + kinds(database, "b")
        assert worker.leases.status("b") == "capped"
        worker.close()

    def test_guarded_effects_of_a_coroutine_function_run_at_once(self, database: Database):
        worker, at = log(database)

        async def think(key: str, payload: object) -> Answer:
            await asyncio.sleep(0)
            return Answer([key, payload], 1, 1)

        think_of = guarded(Effect("think", think))

        async def thinks() -> list[object]:
            return list(await asyncio.gather(think_of("x"), think_of("y")))

        assert run_or_replay(thinks, at) == [["a/0/1", "x"], ["a/0/2", "y"]]
        assert len(worker.effects.ledger("a")) == 2
        with pytest.raises(Misplaced, match="activity think is a coroutine function, the workflow is none"):
            run_or_replay(lambda: think_of("x"), EventLog(worker, "b"))
        worker.close()

    def test_a_guarded_effect_that_fails_for_good_is_given_up(self, database: Database):
        worker, at = log(database)
        tried: list[str] = []

        def fails(key: str, payload: object) -> Answer:
            tried.append(key)
            raise OSError("lost")

        pay = guarded(Effect("pay", fails, backoff=AT_ONCE))
        for _ in range(2):
            with pytest.raises(ActivityFailed, match="activity pay failed 1 times, at last with OSError"):
                run_or_replay(lambda: pay(7), at)
        assert tried == ["a/0/1"] * 3, "the effect's attempts; and none in replay"
        worker.close()
