"""What every store must do for people, versions and caps, whichever database it stands on."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from durable_checks import LONG_S, claimed, lapse, row
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.caps import STORE, Cap, Caps
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database, Work
from streamlanes.durable.effects import Answer, Billed, Effect, Effects
from streamlanes.durable.errors import (
    AlreadyDecided,
    CapReached,
    DurableError,
    LeaseLost,
    NoRequest,
    OtherVersion,
    Parked,
    ProposalChanged,
)
from streamlanes.durable.leases import Leases
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.people import People, Question, Status
from streamlanes.durable.running import (
    Agent,
    Last,
    Step,
    Worker,
    run_with_checkpoint,
    run_with_checkpoint_async,
)
from streamlanes.durable.versions import Phase, Versions, point_of
from streamlanes.durable.waits import Blocking, drive


class Shop:
    """Agents that pay for something once a person agreed, and what they did."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.paid: list[object] = []
        self.lives = 0

    def agent(self, *, proposal: object = "a book", policy: bool = False, dies_in: int = 0) -> Agent:
        """dies_in: the number of the life that dies with the decision in hand."""

        async def agent(state: object, step: Step) -> object:
            self.lives += 1
            said = await step.propose(
                Effect("pay", self._pay), proposal, reapprove_on_resume=policy, tell="person"
            )
            if self.lives == dies_in:
                raise RuntimeError("this worker ends here")
            return Last({"approved": said.approved, "note": said.note, "answer": said.answer})

        return agent

    def run(self, agent: Agent, name: str = "a") -> object:
        """One life, by a worker of its own."""
        worker = Worker(self.database, lease_s=LONG_S)
        try:
            return run_with_checkpoint(agent, name, worker)
        finally:
            worker.close()

    def _pay(self, key: str, payload: object) -> Answer:
        self.paid.append(payload)
        return Answer(f"receipt {len(self.paid)}", 10, 5, 0.25)


class PeopleChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

    # People

    def test_a_proposal_waits_for_a_person_and_is_carried_out_once(self, database: Database):
        shop, people, leases = Shop(database), People(database), Leases(database)
        with pytest.raises(
            Parked, match=r"execution a: it waits for a person, request a/0/0; decide it with"
        ):
            shop.run(shop.agent())
        assert (leases.status("a"), leases.standing(), leases.open(), leases.left()) == ("parked", 0, 0, 1)
        assert leases.claim_any("w").result() is None
        with pytest.raises(Parked, match="request a/0/0"):
            shop.run(shop.agent())
        assert (shop.lives, shop.paid) == (1, [])
        (asked,) = people.pending()
        assert (asked.id, asked.thread_id, asked.round, asked.proposal) == ("a/0/0", "a", 1, "a book")
        decided = people.decide("a/0/0", True, "Ada", "as agreed").result()
        assert (decided.status, decided.decided_by) == (Status.APPROVED, "Ada")
        assert shop.run(shop.agent()) == {"approved": True, "note": "as agreed", "answer": "receipt 1"}
        assert shop.paid == ["a book"]
        assert list(people.pending()) == []
        assert [each.id for each in people.of("a")] == ["a/0/0"]

    def test_a_rejection_is_told_and_nothing_is_done(self, database: Database):
        shop = Shop(database)
        with pytest.raises(Parked):
            shop.run(shop.agent())
        People(database).decide("a/0/0", False, "Ada", "too dear").result()
        assert shop.run(shop.agent()) == {"approved": False, "note": "too dear", "answer": None}
        assert shop.paid == []

    def test_a_request_is_decided_once(self, database: Database):
        shop, people = Shop(database), People(database)
        with pytest.raises(NoRequest, match=r"the store: it has no request 'a/0/0'; list those that wait"):
            people.decide("a/0/0", True, "Ada").result()
        with pytest.raises(Parked):
            shop.run(shop.agent())
        with ThreadPoolExecutor(8) as pool:
            ends = list(pool.map(lambda number: _end(people, number), range(16)))
        assert ends.count("decided") == 1
        assert ends.count("AlreadyDecided") == 15
        with pytest.raises(AlreadyDecided, match=r"execution a: request a/0/0 was \w+ before, by p\d+, "):
            people.decide("a/0/0", True, "").result()
        assert Leases(database).status("a") == "open", "and goes on all the same"

    def test_nobody_is_asked_twice_where_no_policy_wants_it(self, database: Database):
        shop, people = Shop(database), People(database)
        with pytest.raises(Parked):
            shop.run(shop.agent())
        people.decide("a/0/0", True, "Ada").result()
        with pytest.raises(RuntimeError):
            shop.run(shop.agent(dies_in=2))
        shop.run(shop.agent())
        assert len(people.of("a")) == 1
        assert shop.paid == ["a book"]

    def test_under_the_policy_a_worker_that_resumes_asks_again(self, database: Database):
        people, lives = People(database), 0

        async def agent(state: object, step: Step) -> object:
            nonlocal lives
            lives += 1
            said = await step.interrupt("really?", reapprove_on_resume=True)
            if lives == 2:
                raise RuntimeError("dies with the approval in hand")
            return Last(said.approved)

        shop = Shop(database)
        with pytest.raises(Parked, match="request a/0/0;"):
            shop.run(agent)
        people.decide("a/0/0", True, "Ada").result()
        with pytest.raises(RuntimeError):
            shop.run(agent)
        with pytest.raises(Parked, match=r"request a/0/0\.2;"):
            shop.run(agent)
        with pytest.raises(AlreadyDecided):
            people.decide("a/0/0", True, "Ada").result()
        assert Leases(database).status("a") == "parked", "an old decision says nothing of the new request"
        people.decide("a/0/0.2", False, "Ada").result()
        assert shop.run(agent) is False
        assert [each.round for each in people.of("a")] == [1, 2]

    def test_what_is_done_is_not_asked_again_whatever_the_policy(self, database: Database):
        shop, people = Shop(database), People(database)
        with pytest.raises(Parked):
            shop.run(shop.agent(policy=True))
        people.decide("a/0/0", True, "Ada").result()
        with pytest.raises(RuntimeError):
            shop.run(shop.agent(policy=True, dies_in=2))
        assert shop.run(shop.agent(policy=True)) == {"approved": True, "note": "", "answer": "receipt 1"}
        assert len(people.of("a")) == 1

    def test_an_approval_is_of_one_proposal_only(self, database: Database):
        shop, people = Shop(database), People(database)
        with pytest.raises(Parked):
            shop.run(shop.agent(proposal={"usd": 10, "to": "Bob"}))
        people.decide("a/0/0", True, "Ada").result()
        with pytest.raises(
            ProposalChanged, match="request a/0/0 was approved, but the step proposes something"
        ):
            shop.run(shop.agent(proposal={"usd": 1000, "to": "Bob"}))
        assert shop.paid == []
        shop.run(shop.agent(proposal={"to": "Bob", "usd": 10}))
        assert shop.paid == [{"to": "Bob", "usd": 10}]

    def test_a_person_is_told_exactly_when_they_are_asked(self, database: Database):
        shop, told = Shop(database), []
        dispatcher = Dispatcher(database, Leases(database), {"person": lambda *what: told.append(what)})
        lease = claimed(database)
        lapse(database, "a")
        with pytest.raises(LeaseLost):
            People(database).ask(lease, Question("a/0/0", '"a book"', tell="person")).result()
        assert dispatcher.counts() == {}
        with pytest.raises(Parked):
            shop.run(shop.agent())
        lock = dispatcher.lock("w", LONG_S)
        assert lock is not None
        assert dispatcher.send_due(lock) == 1
        assert told == [("a/0/0", '"a book"')]

    def test_an_answer_that_was_lost_is_asked_for_again(self, database: Database):
        """A request whose commit was answered to nobody is carried out a second time."""
        people, lease = People(database), claimed(database)
        question = Question("a/0/0", '"a book"')
        for _ in range(2):
            assert people.ask(lease, question).result() is None
        assert len(people.of("a")) == 1

    def test_hundreds_that_wait_hold_no_thread_and_no_lease(self, database: Database):
        worker, before = Worker(database, lease_s=LONG_S), threading.active_count()

        async def agent(state: object, step: Step) -> object:
            return Last((await step.interrupt(step.thread_id)).approved)

        async def all_of_them() -> list[object]:
            runs = [run_with_checkpoint_async(agent, f"e{number}", worker) for number in range(300)]
            return await asyncio.gather(*runs, return_exceptions=True)

        assert {type(end) for end in asyncio.run(all_of_them())} == {Parked}
        assert (worker.leases.standing(), worker.leases.left()) == (0, 300)
        assert threading.active_count() <= before
        assert len(worker.people.pending()) == 300
        worker.close()

    # Versions

    def test_executions_stay_on_the_version_they_began_with(self, database: Database):
        old, new = Worker(database, version=1), Worker(database, version=2)
        versions = Versions(database)
        old.leases.create("before").result()
        versions.share({1: 0.5, 2: 0.5}).result()
        names = [f"e{number}" for number in range(40)]
        for created in [new.leases.create(name) for name in names]:
            created.result()
        wanted = {name: 1 if point_of(name) < 0.5 else 2 for name in names} | {"before": 1}
        assert {name: old.leases.version(name) for name in wanted} == wanted
        assert set(wanted.values()) == {1, 2}
        versions.share({2: 1.0}).result()
        assert new.leases.create("after").result()
        assert new.leases.version("after") == 2
        assert {name: old.leases.version(name) for name in wanted} == wanted, "where they were"
        for worker in (old, new):
            ran = []
            while one := worker.leases.claim_any("w", LONG_S).result():
                ran.append(one.lease.thread_id)
                last = row(0, one.lease.thread_id)
                worker.store.append(one.lease, last, last=True).result()
            assert set(ran) == {
                name for name in [*wanted, "after"] if old.leases.version(name) == worker.version
            }
        assert old.leases.left() == 0
        old.close()
        new.close()

    def test_a_worker_of_another_version_is_told(self, database: Database):
        shop, new = Shop(database), Worker(database, version=2, lease_s=LONG_S)
        with pytest.raises(Parked):
            shop.run(shop.agent())
        with pytest.raises(
            OtherVersion, match="execution a: it stays on version 1, this worker has version 2"
        ):
            run_with_checkpoint(shop.agent(), "a", new)
        People(database).decide("a/0/0", True, "Ada").result()
        with pytest.raises(OtherVersion):
            run_with_checkpoint(shop.agent(), "a", new)
        assert shop.run(shop.agent())["approved"] is True, "an approval outlives a deployment"
        new.close()

    def test_the_version_stands_in_each_checkpoint(self, database: Database):
        worker = Worker(database, version=7, lease_s=LONG_S)

        async def agent(state: object, step: Step) -> object:
            return Last(step.version) if step.number == 2 else step.version

        assert run_with_checkpoint(agent, "a", worker) == 7
        assert [each.version for each in worker.store.history("a")] == [7, 7, 7]
        worker.store.update(claimed_of(worker, "b"), lambda _: b"{}").result()
        assert [each.version for each in worker.store.history("b")] == [7]
        worker.close()

    def test_a_version_drains_once_it_has_no_share(self, database: Database):
        now = [1000.0]
        versions, leases = Versions(database, lambda: now[0]), Leases(database)
        store = Checkpoints(database, now=lambda: now[0])
        names = ["a", "b", "c"]
        leases_of = {name: claimed(database, name) for name in names}
        (only,) = versions.standing()
        assert (only.phase, only.open, only.drained_s, only.left_s) == (Phase.ACTIVE, 3, None, None)
        versions.share({1: 0.9, 2: 0.1}).result()
        split = versions.standing()
        assert [(each.version, each.share, each.phase) for each in split] == [
            (1, 0.9, Phase.ACTIVE), (2, pytest.approx(0.1), Phase.ACTIVE)
        ]  # fmt: skip
        assert all("never drains" in (each.why or "") for each in split)
        versions.share({2: 1.0}).result()
        assert versions.standing()[0].why == "none of its executions has ended since it was closed"
        now[0] += 10.0
        store.append(leases_of["a"], row(0, "a"), last=True).result()
        old = versions.standing()[0]
        assert (old.phase, old.open, old.done, old.left_s) == (Phase.DRAINING, 2, 1, 20.0)
        assert leases.open() == 2
        now[0] += 30.0
        for name in names[1:]:
            store.append(leases_of[name], row(0, name), last=True).result()
        now[0] += 1000.0
        versions.share({2: 1.0}).result()
        old = versions.standing()[0]
        assert (old.phase, old.drained_s, old.why) == (Phase.DRAINED, 40.0, None)

    def test_a_lock_has_no_version(self, database: Database):
        old, new = Leases(database, 1), Leases(database, 2)
        lock = new.lock("dispatcher", "w", LONG_S).result()
        assert lock is not None
        assert new.release(lock.lease).result()
        assert old.lock("dispatcher", "w", LONG_S).result() is not None
        assert list(Versions(database).standing()) == []

    # Caps

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
        ("tokens", "usd"), [(None, None), (-1, None), (None, -0.5), (None, float("nan"))]
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


def claimed_of(worker: Worker, name: str) -> object:
    """A lease of a worker's version."""
    found = worker.leases.claim(name, worker.owner, LONG_S).result()
    assert found is not None
    return found.lease


def _end(people: People, number: int) -> str:
    try:
        people.decide("a/0/0", number % 2 == 0, f"p{number}").result()
    except AlreadyDecided as error:
        return type(error).__name__
    return "decided"


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
