"""What a database must do for people who are asked."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from durable_checks.shop import Shop
from durable_rows import LONG_S, claimed, lapse
from streamlanes.durable.database import Database
from streamlanes.durable.errors import AlreadyDecided, LeaseLost, NoRequest, Parked, ProposalChanged
from streamlanes.durable.leases import Leases
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.people import People, Question, Status
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint_async


class PeopleChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

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


def _end(people: People, number: int) -> str:
    try:
        people.decide("a/0/0", number % 2 == 0, f"p{number}").result()
    except AlreadyDecided as error:
        return type(error).__name__
    return "decided"
