"""Replay on SQLite, and the log through random interleavings and deaths, held against a model."""

import contextvars
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from durable_checks.divergences import DivergenceChecks
from durable_checks.logs import LogChecks
from durable_checks.replays import ReplayChecks
from replay_world import AT_ONCE, Died
from streamlanes.durable.activities import Workflow, activity, now, uuid
from streamlanes.durable.database import Database
from streamlanes.durable.errors import LeaseHeld, LeaseLost
from streamlanes.durable.events import Event, Events, Kind
from streamlanes.durable.leases import Leases
from streamlanes.durable.replay import EventLog, _run, run_or_replay
from streamlanes.durable.running import Worker
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.values import Lease

LEASE_S = 600.0


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLite]:
    made = SQLite(tmp_path / "store.db", synchronous=Synchronous.NORMAL)
    yield made
    made.close()


class TestSQLite(ReplayChecks, DivergenceChecks, LogChecks):
    """See durable_checks."""


# Deaths at any moment: before an event is written, once it is written and nobody was told, in an activity


@dataclass
class Deaths:
    """Dies at given passages, counted over all lives: of an append, before and after it is durable, and
    of an activity's end."""

    at: set[int]
    passed: int = 0

    def passage(self) -> None:
        self.passed += 1
        if self.passed in self.at:
            raise Died


def dying(deaths: Deaths) -> Callable[..., "Future[None]"]:
    append = Events.append

    def dies(self: Events, lease: Lease, events: Sequence[Event], *, last: bool = False) -> "Future[None]":
        deaths.passage()
        answer = append(self, lease, events, last=last)
        answer.result()
        deaths.passage()
        return answer

    return dies


@settings(max_examples=40, deadline=None)
@given(at=st.sets(st.integers(1, 40), max_size=6), fails=st.integers(0, 2))
def test_any_deaths_come_to_the_same_end(at: set[int], fails: int):
    deaths, ran, seen = Deaths(at), Counter(), []

    @activity(backoff=AT_ONCE)
    def step(name: str, stamp: str) -> str:
        ran[name] += 1
        if name == "b" and ran["b"] <= fails:
            raise ValueError(name)
        deaths.passage()
        return f"{name} {stamp}"

    def steps() -> list[Any]:
        found: list[Any] = []
        for name in ("a", "b", "c", "d"):
            found += [now(), step(name, uuid())]
        seen.append(found)
        return found

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        database = SQLite(Path(folder) / "s.db", synchronous=Synchronous.NORMAL)
        worker = Worker(database, "w", LEASE_S)
        log = EventLog(worker, "a")
        patch.setattr(Events, "append", dying(deaths))
        lives = 0
        ended = None
        while ended is None:
            lives += 1
            try:
                ended = run_or_replay(steps, log)
            except Died:
                continue
        assert lives <= len(at) + 1
        before, executions = Events(database).read("a"), ran.total()
        assert run_or_replay(steps, log) == ended
        assert all(each == ended for each in seen)
        assert Events(database).read("a") == before
        assert ran.total() == executions
        assert executions <= 4 + fails + (lives - 1)
        _holds_together(before)
        worker.close()
        database.close()


@pytest.mark.parametrize("crash_at", range(1, 9))
def test_executions_of_naive_retry_and_of_replay_for_any_crash_point(database: Database, crash_at: int):
    """A worker that dies in activity k of n: naive retry runs k + n, replay n + 1."""
    count, ran = 8, Counter()

    def body(name: str) -> None:
        ran[name] += 1
        if ran[name] == crash_at and ran.total() == crash_at + before:
            raise Died

    @activity
    def step(number: int) -> None:
        body("replay")

    def workflow() -> None:
        for number in range(count):
            step(number)

    before = 0
    worker = Worker(database, "w", LEASE_S)
    with pytest.raises(Died):
        run_or_replay(workflow, EventLog(worker, "a"))
    run_or_replay(workflow, EventLog(worker, "a"))
    assert ran["replay"] == count + 1
    before = ran.total()

    def naive() -> None:
        for _ in range(count):
            body("naive")

    with pytest.raises(Died):
        naive()
    naive()
    assert ran["naive"] == count + crash_at
    worker.close()


def _holds_together(events: Sequence[Event]) -> None:
    """What is true of every log at every moment."""
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    epochs = [event.epoch for event in events]
    assert epochs == sorted(epochs), "sessions do not mix"
    ends = Counter(event.call for event in events if event.kind in {Kind.COMPLETED, Kind.GAVE_UP})
    assert all(times == 1 for times in ends.values())
    scheduled = Counter(event.call for event in events if event.kind is Kind.SCHEDULED)
    assert all(times == 1 for times in scheduled.values())
    assert all(scheduled[call] for call in ends)
    assert [event.kind for event in events].count(Kind.ENDED) <= 1


# Several sessions, stepped in any order, stopped and woken, on a clock that is moved


class _Turn:
    """Gives the turn back to whoever steps the session."""

    def __await__(self) -> Iterator[None]:
        yield


class Stepped:
    """A workflow that gives its turn away at each wait."""

    loops = True

    def here(self) -> object:
        return self

    async def result(self, of: "Future[Any]") -> Any:
        await _Turn()
        return of.result()

    async def sleep(self, seconds: float) -> None:
        await _Turn()

    async def call(
        self, function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        await _Turn()
        return function(*args, **kwargs)


@dataclass
class Stepping:
    """A session under way."""

    coroutine: Any
    context: contextvars.Context
    over: bool = False
    end: object = None
    error: BaseException | None = field(default=None)

    def step(self) -> None:
        try:
            self.context.run(self.coroutine.send, None)
        except StopIteration as stop:
            self.over, self.end = True, stop.value
        except (LeaseHeld, LeaseLost) as error:
            self.over, self.error = True, error


class SessionMachine(RuleBasedStateMachine):
    """Sessions of one log begin, go on in any order and stop for good; leases lapse."""

    sessions = Bundle("sessions")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.now_s = 1000.0
        self.database = SQLite(self.folder / "s.db", synchronous=Synchronous.NORMAL, clock=lambda: self.now_s)
        self.worker = Worker(self.database, "w", LEASE_S)
        self.ran: Counter[str] = Counter()
        self.begun: list[Stepping] = []
        self.kept: list[Event] = []

        @activity(backoff=AT_ONCE)
        def step(name: str, stamp: str) -> str:
            self.ran[name] += 1
            if name == "two" and self.ran[name] == 1:
                raise ValueError(name)
            return f"{name} {stamp}"

        async def steps() -> list[str]:
            return [await step(name, uuid()) for name in ("one", "two", "three")]

        self.workflow = Workflow("steps", steps)

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        self.now_s += 3 * LEASE_S
        last = self._new()
        for _ in range(200):
            if last.over:
                break
            last.step()
        assert last.error is None
        replayed = self._new()
        while not replayed.over:
            replayed.step()
        assert replayed.end == last.end
        assert all(each.end == last.end for each in self.begun if each.over and each.error is None)
        events = Events(self.database).read("a")
        _holds_together(events)
        begun = Counter(
            event.kind in {Kind.SCHEDULED, Kind.AGAIN} for event in events if event.name == "step"
        )[True]
        assert self.ran.total() <= begun
        for each in self.begun:
            each.context.run(each.coroutine.close)
        self.worker.close()
        self.database.close()
        shutil.rmtree(self.folder)

    def _new(self) -> Stepping:
        coroutine = _run(self.workflow, EventLog(self.worker, "a"), (), {}, Stepped())
        made = Stepping(coroutine, contextvars.copy_context())
        self.begun.append(made)
        return made

    @rule(target=sessions)
    def begin(self) -> Stepping:
        return self._new()

    @rule(session=sessions, steps=st.integers(1, 12))
    def go_on(self, session: Stepping, steps: int) -> None:
        for _ in range(steps):
            if not session.over:
                session.step()

    @rule(seconds=st.sampled_from([1.0, LEASE_S / 2, LEASE_S + 1]))
    def move_the_clock(self, seconds: float) -> None:
        self.now_s += seconds

    @rule()
    def reap(self) -> None:
        Leases(self.database).reap().result()

    @invariant()
    def the_log_only_grows(self) -> None:
        if hasattr(self, "database"):
            events = Events(self.database).read("a")
            assert events[: len(self.kept)] == self.kept, "what was written stays as it is"
            _holds_together(events)
            self.kept = events


SessionMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestSessionMachine = SessionMachine.TestCase
