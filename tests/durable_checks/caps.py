"""What a database must do for caps on what is spent."""

import pytest

from durable_rows import LONG_S, claimed, lapse
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.caps import STORE, Cap, Caps
from streamlanes.durable.database import Database, Work
from streamlanes.durable.effects import Answer, Billed, Effect, Effects
from streamlanes.durable.errors import CapReached, DurableError, LeaseLost
from streamlanes.durable.leases import Leases
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint
from streamlanes.durable.waits import Blocking, drive


class CapChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

    def test_a_cap_stops_an_execution_until_it_is_raised(self, database: Database):
        worker, spent = Worker(database, lease_s=LONG_S), []

        def think(key: str, payload: object) -> Answer:
            spent.append(key)
            return Answer("thought", 60, 40, 0.5)

        async def agent(state: object, step: Step) -> object:
            await step.call(Effect("think", think), None)
            return Last(step.number) if step.number == 4 else step.number

        worker.caps.set(STORE, 250, None).result()
        with pytest.raises(
            CapReached, match=r"execution a: the store spent 300 tokens and 1\.50 USD, its cap"
        ):
            run_with_checkpoint(agent, "a", worker)
        assert (len(spent), worker.leases.status("a"), worker.leases.standing()) == (3, "capped", 0)
        worker.close()
        later = Worker(database, lease_s=LONG_S)  # the switch is in the store
        assert later.leases.claim_any("w").result() is None
        with pytest.raises(CapReached, match="stopped it; raise the cap"):
            run_with_checkpoint(agent, "a", later)
        with pytest.raises(CapReached):
            run_with_checkpoint(agent, "b", later)
        assert len(spent) == 3
        assert later.caps.set(STORE, 10_000, None).result() == 2
        assert run_with_checkpoint(agent, "a", later) == 4
        assert list(later.caps.all()) == [Cap(STORE, 10_000, None, 500, 2.5)]
        later.close()

    def test_a_cap_is_of_one_execution_and_counts_what_was_spent_before(self, database: Database):
        worker = Worker(database, lease_s=LONG_S)

        async def agent(state: object, step: Step) -> object:
            await step.call(Effect("think", lambda *_: Answer(None, 1, 1, 0.25)), None)
            return Last(None) if step.number == 3 else None

        run_with_checkpoint(agent, "a", worker)
        worker.caps.set("a", None, 1.0).result()
        worker.caps.set("b", None, 0.5).result()
        assert [(cap.scope, cap.usd, cap.reached) for cap in worker.caps.all()] == [
            ("a", 1.0, True), ("b", 0.0, False)
        ]  # fmt: skip
        with pytest.raises(
            CapReached, match=r"execution b: it spent 4 tokens and 0\.50 USD, its cap is 0\.50 USD"
        ):
            run_with_checkpoint(agent, "b", worker)
        run_with_checkpoint(agent, "c", worker)
        assert worker.caps.lift("b").result() == 1
        run_with_checkpoint(agent, "b", worker)
        worker.close()

    def test_a_cap_of_nothing_stops_all_at_once(self, database: Database):
        effects, lease, done = Effects(database), claimed(database), []
        worker = Worker(database, lease_s=LONG_S)
        worker.caps.set(STORE, 0, None).result()

        async def agent(state: object, step: Step) -> object:
            return Last(await step.call(Effect("think", lambda *_: done.append(1) or Answer(None)), None))

        with pytest.raises(CapReached):
            run_with_checkpoint(agent, "b", worker)
        assert done == []
        assert list(effects.ledger("b")) == []
        assert worker.leases.beat(lease).result(), "what does nothing costs nothing, and goes on"
        worker.close()

    @pytest.mark.parametrize(
        ("tokens", "usd"), [(None, None), (-1, None), (2**63, None), (None, -0.5), (None, float("nan"))]
    )
    def test_a_cap_that_is_none_is_refused(self, database: Database, tokens: int | None, usd: float | None):
        worker = Worker(database)
        with pytest.raises(DurableError, match="cap"):
            worker.caps.set(STORE, tokens, usd)
        assert list(worker.caps.all()) == []
        worker.close()

    def test_an_attempt_that_is_recorded_twice_is_counted_once(self, database: Database):
        """As when a connection is lost at the commit and the same is sent again."""
        effects, lease = Effects(database), claimed(database)
        worker = Worker(database)
        worker.caps.set(STORE, 1000, None).result()
        database.submit(Work(None, lambda tx: _begin(tx, "k"))).result()
        write = effects._recording(lease, "k", Answer("x", 7, 3), 1)
        for _ in range(2):
            database.submit(write).result()
        assert worker.caps.all()[0].tokens == 10
        worker.close()

    def test_a_cap_says_how_many_attempts_cost_what_nobody_knows(self, database: Database):
        effects, caps, lease = Effects(database), Caps(database), claimed(database)
        once = Backoff(attempts=1)

        def dies(key: str, payload: object) -> Answer:
            raise ConnectionResetError("billed, and the answer lost")

        def says(key: str, payload: object) -> Answer:
            raise Billed(30, 20, 0.5) from ConnectionResetError("the answer broke off")

        caps.set("a", 1000, None).result()
        for number, (perform, error) in enumerate([(dies, ConnectionResetError), (says, Billed)]):
            with pytest.raises(error):
                drive(
                    effects.once(
                        lease, f"a/0/{number}", Effect("think", perform, backoff=once), None, Blocking()
                    )
                )
        assert list(caps.all()) == [Cap("a", 1000, None, 50, 0.5, unknown=1)]
        for _ in range(2):  # the same sent again, after a lost connection
            effects._end(lease, "a/0/1", 1, Billed(30, 20, 0.5)).result()
        assert caps.all()[0].tokens == 50
        caps.set(STORE, 50, None).result()
        with pytest.raises(CapReached, match=r"50 tokens and 0\.50 USD \(attempts of unknown cost: 1\), its"):
            drive(effects.once(lease, "a/0/2", Effect("think", says, backoff=once), None, Blocking()))
        assert [cap.tokens for cap in caps.all()] == [50, 50], "and a new cap counts what was said before"

    def test_a_worker_whose_lease_lapsed_stops_nothing(self, database: Database):
        lease = claimed(database)
        lapse(database, "a")
        with pytest.raises(LeaseLost):
            Caps(database).stop(lease).result()
        assert Leases(database).status("a") == "open"


def _begin(transaction: object, key: str) -> None:
    """An effect whose first attempt is under way."""
    transaction.run(
        "INSERT INTO effects (key, thread_id, name, status, answer, epoch) "
        "VALUES (:key, 'a', 'pay', 'claimed', '', 1)",
        {"key": key},
    )
    transaction.run(
        "INSERT INTO attempts (key, attempt, status, prompt_tokens, output_tokens, price_usd) "
        "VALUES (:key, 1, 'begun', NULL, NULL, NULL)",
        {"key": key},
    )
