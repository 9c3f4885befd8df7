"""A session: one worker carrying one workflow along its log, and then beyond the log's end.

An activity that the log holds as completed gives its logged output and does not run. Else its input
is logged, it runs, its output is logged, and only then the workflow sees it. What was begun and has
no end in the log runs again: nobody knows how far it came, so what it does to the world wants a guard
(`attempt_key`). Readings of the clock and of chance are logged with the next event: nothing outside
can know of them before that.
"""

import inspect
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from streamlanes.durable.acting import Acting
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.effects import Effect
from streamlanes.durable.errors import ActivityFailed, DurableError, Misplaced
from streamlanes.durable.events import Event, Events, Kind, said
from streamlanes.durable.fence import lost
from streamlanes.durable.history import History, Known
from streamlanes.durable.points import Point, reach
from streamlanes.durable.running import Worker
from streamlanes.durable.state import decode, encode
from streamlanes.durable.values import Clock, Lease

SAYS = 300
"""Characters of an error's text that are logged."""


@dataclass(frozen=True)
class Task:
    """Something that a workflow can have done. function: what does it. effect: where it is one, which is
    then done once, under its guard and below the caps."""

    name: str
    function: Callable[..., Any]
    backoff: Backoff
    effect: Effect | None = None


@dataclass(frozen=True, slots=True)
class Issued:
    """A call that has its place in the workflow, and what the log holds of it."""

    call: str
    task: Task
    args: Sequence[object]
    kwargs: Mapping[str, object]
    data: str
    known: Known | None


@dataclass(slots=True)
class Branch:
    """A line of calls: the workflow's own, or that of a task within it. runner: who makes them."""

    session: "Session"
    path: str
    runner: object
    calls: int = 0
    children: int = 0

    def next(self) -> str:
        """The name of the next call."""
        self.calls += 1
        return f"{self.path}/{self.calls}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is around an activity while it runs."""

    key: str
    number: int


PLACE: ContextVar[Branch | Attempt | None] = ContextVar("place", default=None)
"""Where the code that runs stands: in a workflow, in an activity, or in neither."""


def branch() -> Branch:
    """The branch that asks. Raises Misplaced where no workflow is carried out."""
    place = PLACE.get()
    if isinstance(place, Attempt):
        what = f"an activity or a reading was asked for within an activity ({place.key})"
        raise Misplaced(None, what, "ask in the workflow, or call the activity's `function`")
    if place is None or place.session.over:
        remedy = "carry the workflow out with run_or_replay, or call the activity's `function`"
        raise Misplaced(None, "an activity or a reading was asked for outside a workflow", remedy)
    session = place.session
    runner = session.acting.here()
    if runner is place.runner:
        return place
    if runner is None or not session.acting.loops:
        what = "an activity or a reading was asked for in another thread"
        raise Misplaced(session.history.thread_id, what, "ask in the workflow's own thread")
    place.children += 1
    child = Branch(session, f"{place.path}.{place.children}", runner)
    PLACE.set(child)  # a task has a context of its own
    return child


class Session:
    """See above. lease: None for a log that has ended: then everything must be in it.

    clock, draw: where readings come from that the log does not hold yet. over: whether the workflow has
    come to its end.
    """

    def __init__(  # a session is where these meet
        self,
        history: History,
        events: Events,
        lease: Lease | None,
        acting: Acting,
        worker: Worker,
        clock: Clock,
        draw: random.Random,
    ) -> None:
        self.history = history
        self.acting = acting
        self.clock = clock
        self.draw = draw
        self.over = False
        self._events = events
        self._lease = lease
        self._worker = worker
        self._next = history.length + 1
        self._waiting: list[Event] = []
        self._failed: DurableError | None = None

    def reading(self, at: Branch, name: str, read: Callable[[], object]) -> Any:
        """The logged value of a reading, or a new one."""
        call = at.next()
        known = self._asked(call, Kind.RECORDED, name, None)
        if known is not None:
            return decode(self.history.thread_id, f"call {call} of its log", known.data)
        value = read()
        self.note(call, Kind.RECORDED, name, json.dumps(value))
        return value

    def issue(self, at: Branch, task: Task, args: Sequence[object], kwargs: Mapping[str, object]) -> Issued:
        """Give a call its place. Raises Diverged where the log holds another there."""
        thread_id = self.history.thread_id
        if not self.acting.loops and inspect.iscoroutinefunction(task.function):
            what = f"activity {task.name} is a coroutine function, the workflow is none"
            raise Misplaced(thread_id, what, "make the workflow a coroutine function too")
        call = at.next()
        data = put(thread_id, args, kwargs, f"the input of {task.name}")
        return Issued(call, task, args, kwargs, data, self._asked(call, Kind.SCHEDULED, task.name, data))

    async def perform(self, issued: Issued) -> object:
        """The activity's output: out of the log, or by running it. Raises ActivityFailed where its
        attempts are used up, in replay too."""
        known, task = issued.known, issued.task
        if known is not None and known.end is not None:
            return self._replayed(task, known, known.end)
        begun, failed = (known.begun, known.failed) if known else (0, 0)
        while True:
            kind, data = (Kind.AGAIN, "null") if begun else (Kind.SCHEDULED, issued.data)
            await self._keep(issued.call, kind, task.name, data)
            begun += 1
            try:
                output = await self._attempt(issued, begun)
            except DurableError:
                raise
            except Exception as error:
                failed += 1
                over = failed >= task.backoff.attempts
                kind = Kind.GAVE_UP if over else Kind.FAILED
                told = _told(error)
                await self._keep(issued.call, kind, task.name, json.dumps(told))
                if over:
                    raise ActivityFailed(task.name, told["error"], told["says"], failed) from error
                await self.acting.sleep(task.backoff.wait_s(failed, self.draw))
                continue
            text = encode(self.history.thread_id, output, f"the output of {task.name}").decode()
            reach(Point.BEFORE_CHECKPOINT)
            await self._keep(issued.call, Kind.COMPLETED, task.name, text)
            reach(Point.AFTER_CHECKPOINT)
            return json.loads(text)  # what the workflow would see in replay

    async def end(self, result: object) -> object:
        """The workflow returned: hold that against the log, and end it."""
        self.over = True
        self.see_that_it_holds()
        text = encode(self.history.thread_id, result, "the result").decode()
        self.history.finish(text)
        if self._lease is not None:
            await self._keep("", Kind.ENDED, "", text, last=True)
        return json.loads(text)

    async def broke(self, error: Exception) -> None:
        """The workflow raised: say so in the log."""
        self.over = True
        if self._lease is not None:
            await self._keep("", Kind.BROKEN, "", json.dumps(_told(error)))

    def note(self, call: str, kind: Kind, name: str, data: str) -> None:
        """An event that is kept with the next one."""
        epoch = self._lease.epoch if self._lease else 0
        self._waiting.append(Event(self._next, call, kind, name, data, time.time(), epoch))
        self._next += 1

    def see_that_it_holds(self) -> None:
        """Raise what ended this session, where the workflow's code caught it and went on."""
        if self._failed is not None:
            raise self._failed

    def _asked(self, call: str, kind: Kind, name: str, data: str | None) -> Known | None:
        try:
            return self.history.ask(call, kind, name, data)
        except DurableError as error:
            self._failed = error
            raise

    async def _attempt(self, issued: Issued, number: int) -> object:
        """Run the activity once. What it calls is none of the workflow's calls."""
        key = f"{quote(self.history.thread_id, safe='')}/{issued.call}"
        before = PLACE.set(Attempt(key, number))
        try:
            if issued.task.effect is not None:
                return await self._once(key, issued.task.effect, *issued.args)
            reach(Point.BEFORE_EFFECT)
            output = await self.acting.call(issued.task.function, issued.args, issued.kwargs)
        finally:
            PLACE.reset(before)
        reach(Point.AFTER_EFFECT)
        return output

    async def _once(self, key: str, effect: Effect, payload: object) -> object:
        assert self._lease is not None, "its attempt is in the log"
        try:
            return await self._worker.effects.once(self._lease, key, effect, payload, self.acting)
        except DurableError as error:  # a cap, a doubt: the workflow's code must not go on without it
            self._failed = error
            raise

    def _replayed(self, task: Task, known: Known, end: Event) -> object:
        if end.kind is Kind.GAVE_UP:
            told = said(self.history.thread_id, end)
            raise ActivityFailed(task.name, str(told.get("error")), str(told.get("says")), known.failed)
        return decode(self.history.thread_id, f"event {end.number} of its log", end.data)

    async def _keep(self, call: str, kind: Kind, name: str, data: str, *, last: bool = False) -> None:
        """Log an event, and those that wait for it; over when all are durable."""
        assert self._lease is not None, "the history of a log that has ended answers or raises"
        self.see_that_it_holds()
        if self._worker.heart.lost(self._lease):
            raise lost(self._lease)
        self.note(call, kind, name, data)
        events, self._waiting = self._waiting, []
        try:
            await self.acting.result(self._events.append(self._lease, events, last=last))
        except DurableError as error:  # a later event would lie beyond a hole: none is tried
            self._failed = error
            raise


def put(thread_id: str, args: Sequence[object], kwargs: Mapping[str, object], what: str) -> str:
    """The arguments of a call as they are logged. Raises StateError for what cannot be kept."""
    return encode(thread_id, {"args": list(args), "kwargs": dict(kwargs)}, what).decode()


def _told(error: Exception) -> dict[str, str]:
    """An error as it is logged, its text on one line and in characters that can be kept."""
    says = " ".join(str(error).split())[:SAYS].encode("utf-8", "replace").decode()
    return {"error": type(error).__name__, "says": says}
