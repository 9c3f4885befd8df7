"""Effects under every guard: what a death, a lost answer or a refused record comes to."""

import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from durable_rows import claimed, lapse
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.effects import Answer, Billed, Effect, Effects, Guard, NotDone, effect_key
from streamlanes.durable.errors import Diverged, DurableError, Full, InDoubt, LeaseLost, StateError
from streamlanes.durable.points import Point, watch
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.values import Lease
from streamlanes.durable.waits import Blocking, drive

AT_ONCE = Backoff(attempts=3, first_s=0.0)
KEY = "a/0/0"


class Killed(BaseException):
    """A worker's death: nothing of it is caught."""


class World:
    """A receiver that remembers what happened, can fail after it did, and takes things back."""

    def __init__(self, guard: Guard, lost_answers: int = 0, not_done: int = 0) -> None:
        self.happened: Counter[str] = Counter()
        self.undone: set[str] = set()
        self.attempts = 0
        self._lost = lost_answers
        self._not_done = not_done
        lookup = self.lookup if guard is Guard.LOOKUP else None
        undo = self.undo if guard is Guard.UNDO else None
        self.effect = Effect("pay", self.perform, guard, lookup, undo, AT_ONCE)
        self._dedup = guard is Guard.KEY

    def perform(self, reference: str, payload: object) -> Answer:
        self.attempts += 1
        if self.attempts <= self._not_done:
            raise NotDone("429")
        if not (self._dedup and self.happened[reference]):
            self.happened[reference] += 1
        if self.attempts <= self._not_done + self._lost:
            raise ConnectionResetError("the answer is lost")
        return Answer(f"did {reference}")

    def lookup(self, reference: str) -> Answer | None:
        return Answer(f"did {reference}") if self.happened[reference] else None

    def undo(self, reference: str) -> None:
        self.undone.add(reference)

    @property
    def net(self) -> int:
        """Effects that stand."""
        return sum(count for ref, count in self.happened.items() if ref not in self.undone)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLite]:
    made = SQLite(tmp_path / "s.db", synchronous=Synchronous.NORMAL)
    yield made
    made.close()
    watch(None)


def once(database: SQLite, lease: Lease, world: World) -> object:
    return drive(Effects(database).once(lease, KEY, world.effect, None, Blocking()))


def dies_at(point: Point) -> Callable[[Point], None]:
    def watcher(reached: Point) -> None:
        if reached is point:
            raise Killed

    return watcher


SAFE = [Guard.KEY, Guard.LOOKUP, Guard.UNDO]


@pytest.mark.parametrize("guard", SAFE)
@pytest.mark.parametrize("point", [Point.BEFORE_EFFECT, Point.AFTER_EFFECT])
def test_a_death_in_the_middle_leaves_one_effect(database: SQLite, guard: Guard, point: Point):
    world = World(guard)
    watch(dies_at(point))
    with pytest.raises(Killed):
        once(database, claimed(database), world)
    watch(None)
    lapse(database, "a")
    answer = once(database, claimed(database), world)
    assert world.net == 1
    assert answer == f"did {KEY}" + ("/2" if guard is Guard.UNDO else "")
    assert once(database, claimed_again(database), world) == answer
    assert world.net == 1


def claimed_again(database: SQLite) -> Lease:
    lapse(database, "a")
    return claimed(database)


@pytest.mark.parametrize("guard", SAFE)
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_lost_answers_leave_one_effect_or_none_in_doubt(database: SQLite, guard: Guard, lost: int):
    world = World(guard, lost_answers=lost)
    if lost == AT_ONCE.attempts and guard is not Guard.LOOKUP:
        with pytest.raises(ConnectionResetError):
            once(database, claimed(database), world)
        assert world.net == (0 if guard is Guard.UNDO else 1), "undone, or there under its key"
        lapse(database, "a")
        once(database, claimed(database), world)
    else:
        once(database, claimed(database), world)
    assert world.net == 1


@pytest.mark.parametrize("guard", Guard)
def test_what_certainly_did_not_happen_is_repeated(database: SQLite, guard: Guard):
    world = World(guard, not_done=2)
    once(database, claimed(database), world)
    assert (world.net, world.attempts) == (1, 3)


def test_without_any_guard_a_person_decides(database: SQLite):
    world = World(Guard.NONE, lost_answers=1)
    with pytest.raises(InDoubt, match=f"execution a: nobody knows whether effect pay {KEY} happened"):
        once(database, claimed(database), world)
    lapse(database, "a")
    with pytest.raises(InDoubt):
        once(database, claimed(database), world)
    assert world.attempts == 1


@pytest.mark.parametrize("guard", [Guard.LOOKUP, Guard.UNDO])
def test_a_guard_that_has_nothing_to_guard_with_is_refused(guard: Guard):
    with pytest.raises(DurableError, match=f"effect pay is under guard {guard} and has no {guard}; give it"):
        Effect("pay", lambda *_: Answer(None), guard)


def test_another_effect_at_the_same_place_does_not_get_its_answer(database: SQLite):
    """A step that is repeated and makes its calls in another order."""
    world, lease = World(Guard.KEY), claimed(database)
    once(database, lease, world)
    other = Effect("refund", world.perform)
    with pytest.raises(
        Diverged, match=f"execution a: call {KEY} was effect pay before, and is refund now; let"
    ):
        drive(Effects(database).once(lease, KEY, other, None, Blocking()))
    assert world.attempts == 1


def test_a_natural_effect_needs_no_row(database: SQLite):
    world = World(Guard.NATURAL, lost_answers=1)
    lease = claimed(database)
    assert once(database, lease, world) == f"did {KEY}"
    assert world.attempts == 2
    assert list(Effects(database).ledger("a")) == []


@pytest.mark.parametrize("guard", SAFE)
def test_a_worker_that_slept_past_its_lease_records_nothing(database: SQLite, guard: Guard):
    world = World(guard)

    def sleeps(point: Point) -> None:
        if point is Point.AFTER_EFFECT:
            watch(None)
            lapse(database, "a")

    watch(sleeps)
    with pytest.raises(LeaseLost):
        once(database, claimed(database), world)
    assert world.net == (0 if guard is Guard.UNDO else 1), "taken back by whoever cannot record it"
    once(database, claimed(database), world)
    assert world.net == 1


def test_an_effect_whose_record_finds_no_room_is_taken_back(tmp_path: Path):
    database = SQLite(tmp_path / "small.db", max_bytes=250_000)
    world = World(Guard.UNDO)
    big = Effect(
        "pay", lambda ref, _: world.perform(ref, None) and Answer("x" * 500_000), Guard.UNDO, undo=world.undo
    )
    with pytest.raises(Full, match="execution a"):
        drive(Effects(database).once(claimed(database), KEY, big, None, Blocking()))
    assert (world.attempts, world.net) == (1, 0)
    database.close()


def test_an_answer_that_cannot_be_kept_is_named_and_taken_back(database: SQLite):
    world = World(Guard.UNDO)
    odd = Effect("pay", lambda ref, _: world.perform(ref, None) and Answer({1}), Guard.UNDO, undo=world.undo)
    with pytest.raises(StateError, match=f"the answer of effect {KEY} is of type set"):
        drive(Effects(database).once(claimed(database), KEY, odd, None, Blocking()))
    assert world.net == 0


def test_the_ledger_has_every_attempt_and_what_it_cost(database: SQLite):
    world, effects = World(Guard.KEY, not_done=1, lost_answers=1), Effects(database)

    def perform(reference: str, payload: object) -> Answer:
        return Answer(world.perform(reference, payload).value, 100, 20, 0.002)

    effect = Effect("ask", perform, Guard.KEY, backoff=AT_ONCE)
    drive(effects.once(claimed(database), KEY, effect, None, Blocking()))
    lines = effects.ledger("a")
    assert [(one.attempt, one.status) for one in lines] == [(1, "not-done"), (2, "failed"), (3, "done")]
    assert [(one.prompt_tokens, one.output_tokens, one.price_usd) for one in lines] == [
        (0, 0, 0.0), (None, None, None), (100, 20, 0.002)
    ], "what failed may have been billed: nobody knows"  # fmt: skip


def test_an_attempt_that_failed_may_say_what_it_cost(database: SQLite):
    costs = iter([Billed(100, 7, 0.001), ConnectionResetError("broke off"), Answer("done", 100, 20, None)])

    def perform(reference: str, payload: object) -> Answer:
        came = next(costs)
        if isinstance(came, Exception):
            raise came
        return came

    effects = Effects(database)
    drive(effects.once(claimed(database), KEY, Effect("ask", perform, backoff=AT_ONCE), None, Blocking()))
    lines = effects.ledger("a")
    assert [(one.status, one.prompt_tokens, one.output_tokens, one.price_usd) for one in lines] == [
        ("failed", 100, 7, 0.001), ("failed", None, None, None), ("done", None, None, None)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("looked_up", "cost"),
    [(Answer("found"), (None, None, None)), (Answer("found", 5, 0, 0.0), (5, 0, 0.0))],
)
def test_an_answer_that_was_asked_for_costs_what_it_says_or_nobody_knows(
    database: SQLite, looked_up: Answer, cost: tuple[object, ...]
):
    def perform(reference: str, payload: object) -> Answer:
        raise ConnectionResetError("billed, and the answer lost")

    effects = Effects(database)
    effect = Effect("ask", perform, Guard.LOOKUP, lambda _: looked_up, backoff=AT_ONCE)
    assert drive(effects.once(claimed(database), KEY, effect, None, Blocking())) == "found"
    (line,) = effects.ledger("a")
    assert (line.status, line.prompt_tokens, line.output_tokens, line.price_usd) == ("done", *cost)


def test_what_a_failed_attempt_said_it_cost_stays(database: SQLite):
    def perform(reference: str, payload: object) -> Answer:
        raise Billed(30, 20, 0.5)

    effects = Effects(database)
    effect = Effect("ask", perform, Guard.LOOKUP, lambda _: Answer("found", 1, 1, 0.1), backoff=AT_ONCE)
    drive(effects.once(claimed(database), KEY, effect, None, Blocking()))
    (line,) = effects.ledger("a")
    assert (line.status, line.prompt_tokens, line.output_tokens, line.price_usd) == ("done", 30, 20, 0.5)


def test_a_bill_survives_a_process_border():
    made = pickle.loads(pickle.dumps(Billed(1200, 7, 0.5)))
    assert (made.prompt_tokens, made.output_tokens, made.price_usd) == (1200, 7, 0.5)
    assert str(made) == "it cost 1,200 + 7 tokens, 0.5000 USD"


def test_an_attempt_that_its_worker_did_not_survive_is_in_the_ledger(database: SQLite):
    watch(dies_at(Point.AFTER_EFFECT))
    with pytest.raises(Killed):
        once(database, claimed(database), World(Guard.KEY))
    (line,) = Effects(database).ledger("a")
    assert (line.status, line.prompt_tokens, line.output_tokens, line.price_usd) == (
        "begun",
        None,
        None,
        None,
    )


def test_a_key_names_execution_step_and_call_and_nothing_else():
    assert effect_key("agent 1/ü", 3, 0) == "agent%201%2F%C3%BC/3/0"
    keys = {effect_key(name, step, call) for name in ("a", "a/1") for step in (1, 11) for call in (1, 11)}
    assert len(keys) == 8


def test_backoff_doubles_to_its_most_and_jitters():
    backoff, draw = Backoff(first_s=0.1, most_s=1.0), random.Random(1)
    waits = [[backoff.wait_s(attempt, draw) for _ in range(200)] for attempt in (1, 2, 3, 4, 5, 1000)]
    for most, drawn in zip([0.1, 0.2, 0.4, 0.8, 1.0, 1.0], waits, strict=True):
        assert 0 <= min(drawn) < 0.1 * most
        assert 0.9 * most < max(drawn) <= most


def test_the_agent_may_not_await_what_no_thread_can(database: SQLite):
    class Elsewhere:
        def __await__(self) -> Iterator[None]:
            yield

    async def waits() -> None:
        await Elsewhere()

    with pytest.raises(RuntimeError, match="run_with_checkpoint_async"):
        drive(waits())


def test_an_error_of_the_store_is_not_retried_as_if_it_were_the_effects(database: SQLite):
    def perform(reference: str, payload: object) -> Answer:
        raise DurableError("a", "deep inside", "look")

    with pytest.raises(DurableError, match="deep inside"):
        drive(Effects(database).once(claimed(database), KEY, Effect("x", perform), None, Blocking()))
