"""What workflows are written with: activities, and readings that come out the same in replay.

    @activity
    def charge(order: str, cents: int) -> str: ...

    def order(name: str) -> dict:
        began = now()
        return {"receipt": charge(name, 100), "began": began}

    run_or_replay(order, EventLog(worker, "order-17"), "a book")

A workflow asks for the same things in the same order whenever it runs: all it knows of the world
comes through activities, `now()`, `random()` and `uuid()`. In a workflow that is a coroutine function,
activities are awaited, and several may run at once (`asyncio.gather`).
"""

import uuid as identities
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from streamlanes.durable.backoff import Backoff
from streamlanes.durable.effects import Effect
from streamlanes.durable.errors import Misplaced
from streamlanes.durable.sessions import PLACE, Attempt, Task, branch
from streamlanes.durable.waits import drive

RETRIES = Backoff()


@dataclass(frozen=True)
class Activity(Task):
    """A function that does not run again once its output is logged.

    It runs at least once, and again where it raised, or its worker died in it. `function` is the function
    itself, for use outside workflows.
    """

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """The output; in a workflow that is a coroutine function, something to be awaited for it."""
        return _ask(self, args, kwargs)


@overload
def activity(function: Callable[..., Any], /) -> Activity: ...


@overload
def activity(
    *, name: str | None = None, backoff: Backoff = RETRIES
) -> Callable[[Callable[..., Any]], Activity]: ...


def activity(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, backoff: Backoff = RETRIES
) -> Any:
    """Make a function an activity. Its arguments and its output are JSON.

    name: what logs call it; the function's own name if not given. It must not change while logs hold it.
    backoff: attempts, those that failed under earlier workers counted, and the waits between them.
    """
    if function is None:
        return lambda made: Activity(name or made.__name__, made, backoff)
    return Activity(name or function.__name__, function, backoff)


@dataclass(frozen=True)
class EffectActivity(Task):
    """An effect that a workflow can have done; see `guarded`."""

    def __call__(self, payload: object) -> Any:
        """What the effect came to; in a workflow that is a coroutine function, to be awaited."""
        return _ask(self, (payload,), {})


def guarded(effect: Effect) -> EffectActivity:
    """Make an effect an activity of one argument, its payload: done once under its guard, every attempt in
    the ledger, none above a cap (see effects.py and caps.py).

    Attempts and waits are the effect's own. In a workflow that is a coroutine function, what it does should
    be a coroutine function: a plain one would block the loop.
    """
    return EffectActivity(effect.name, effect.perform, Backoff(attempts=1), effect)


@dataclass(frozen=True)
class Workflow:
    """A workflow's function, and which version of it this is."""

    name: str
    function: Callable[..., Any]
    version: int = 1


def workflow(*, version: int = 1, name: str | None = None) -> Callable[[Callable[..., Any]], Workflow]:
    """Say which version of a workflow a function is: a log that another version began is refused.

    A function without this is version 1 of the workflow of its own name.
    """
    return lambda function: Workflow(name or function.__name__, function, version)


def now() -> float:
    """Seconds since 1970, as they were when the workflow first came here."""
    at = branch()
    return float(at.session.reading(at, "now", at.session.clock))


def random() -> float:
    """A number from 0 to 1, the same in replay."""
    at = branch()
    return float(at.session.reading(at, "random", at.session.draw.random))


def uuid() -> str:
    """A random UUID, the same in replay."""
    at = branch()
    bits = at.session.draw.getrandbits
    return str(at.session.reading(at, "uuid", lambda: str(identities.UUID(int=bits(128), version=4))))


def attempt_key() -> str:
    """Within an activity: the idempotency key of this call, the same in every attempt of any worker.

    For receivers that drop what they have seen. Raises Misplaced outside an activity.
    """
    return _attempt().key


def attempt_number() -> int:
    """Within an activity: which attempt this is, from 1, over all workers."""
    return _attempt().number


def _ask(task: Task, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
    at = branch()
    session = at.session
    issued = session.issue(at, task, args, kwargs)
    return session.perform(issued) if session.acting.loops else drive(session.perform(issued))


def _attempt() -> Attempt:
    place = PLACE.get()
    if not isinstance(place, Attempt):
        raise Misplaced(None, "an attempt was asked for outside an activity", "ask within one")
    return place
