"""What a database must do for effects, the outbox, and agents that are run on it."""

import asyncio
import threading

import pytest

from durable_rows import LONG_S, claimed, lapse, row
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database
from streamlanes.durable.effects import Answer, Effect, Effects
from streamlanes.durable.errors import LeaseHeld, LeaseLost
from streamlanes.durable.leases import Leases
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.running import (
    Last,
    Step,
    Worker,
    run_with_checkpoint,
    run_with_checkpoint_async,
)
from streamlanes.durable.values import Message
from streamlanes.durable.waits import Blocking, drive


class RunChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

    def test_an_effect_is_done_once_and_its_answer_kept(self, database: Database):
        effects, lease = Effects(database), claimed(database)
        done: list[str] = []

        def perform(key: str, payload: object) -> Answer:
            done.append(key)
            return Answer({"paid": payload}, 10, 20, 0.5)

        for _ in range(2):
            got = drive(effects.once(lease, "a/0/0", Effect("pay", perform), 7, Blocking()))
            assert got == {"paid": 7}
        assert done == ["a/0/0"]
        (line,) = effects.ledger("a")
        assert (line.status, line.prompt_tokens, line.output_tokens, line.price_usd) == ("done", 10, 20, 0.5)

    def test_a_stale_worker_gets_no_effect(self, database: Database):
        effects, lease = Effects(database), claimed(database)
        lapse(database, "a")
        done: list[str] = []
        effect = Effect("pay", lambda key, _: done.append(key) or Answer(None))
        with pytest.raises(LeaseLost):
            drive(effects.once(lease, "a/0/0", effect, None, Blocking()))
        assert done == []

    def test_a_message_is_there_exactly_when_its_step_is(self, database: Database):
        store, lease = Checkpoints(database), claimed(database)
        mail = Message("a/0/0", "mail", "hello")
        lapse(database, "a")
        with pytest.raises(LeaseLost):
            store.append(lease, row(0, "a", b"{}", mail)).result()
        dispatcher = Dispatcher(database, Leases(database), {})
        assert dispatcher.counts() == {}
        lease = claimed(database)
        store.append(lease, row(0, "a", b"{}", mail)).result()
        store.append(lease, row(0, "a", b"{}", mail)).result()
        assert dispatcher.counts() == {"waiting": 1}

    def test_the_dispatcher_sends_again_what_it_did_not_note(self, database: Database):
        store, leases = Checkpoints(database), Leases(database)
        store.append(claimed(database), row(0, "a", b"{}", Message("k", "mail", "hello"))).result()
        sent: list[tuple[str, str]] = []
        dispatcher = Dispatcher(database, leases, {"mail": lambda key, text: sent.append((key, text))})
        lock = dispatcher.lock("w", LONG_S)
        assert lock is not None
        assert dispatcher.lock("w", LONG_S) is None
        lapse(database, "lock:dispatcher")
        with pytest.raises(LeaseLost):
            dispatcher.send_due(lock)
        again = dispatcher.lock("w", LONG_S)
        assert again is not None
        assert dispatcher.send_due(again) == 1
        assert dispatcher.send_due(again) == 0
        assert sent == [("k", "hello")] * 2, "the same key both times: the receiver drops one"
        assert dispatcher.counts() == {"sent": 1}

    def test_a_run_goes_on_where_another_ended(self, database: Database):
        worker, began = Worker(database, lease_s=LONG_S), []

        async def agent(state: object, step: Step) -> object:
            began.append(step.number)
            if step.number == 2 and began.count(2) == 1:
                raise RuntimeError("the first worker ends here")
            total = (state["total"] if isinstance(state, dict) else 0) + step.number
            return Last({"total": total}) if step.number == 3 else {"total": total}

        with pytest.raises(RuntimeError, match="first worker"):
            run_with_checkpoint(agent, "a", worker)
        assert run_with_checkpoint(agent, "a", worker) == {"total": 6}
        assert began == [0, 1, 2, 2, 3]
        assert run_with_checkpoint(agent, "a", worker) == {"total": 6}, "done is done"
        assert len(began) == 5
        worker.close()

    def test_a_run_that_somebody_has_is_left_to_them(self, database: Database):
        worker = Worker(database, lease_s=LONG_S)
        claimed(database, "a", "other")
        with pytest.raises(LeaseHeld, match="execution a: another worker has it"):
            run_with_checkpoint(_never, "a", worker)
        worker.close()

    def test_many_runs_in_one_loop_hold_no_thread_each(self, database: Database):
        worker = Worker(database, lease_s=LONG_S)
        before, most = threading.active_count(), []

        async def agent(state: object, step: Step) -> object:
            most.append(threading.active_count())
            return Last(step.number) if step.number == 2 else step.number

        async def all_of_them() -> list[object]:
            runs = [run_with_checkpoint_async(agent, f"e{number}", worker) for number in range(200)]
            return await asyncio.gather(*runs)

        assert asyncio.run(all_of_them()) == [2] * 200
        assert max(most) <= before + 1, "a thread of the loop's own at most"
        assert database.counts.largest > 1
        worker.close()


async def _never(state: object, step: Step) -> object:
    raise AssertionError("it is somebody else's")
