"""Effects: what a step does to the world, once, though workers die in the middle.

The key comes from execution, step and place of the call in the step: never from what a model said
and never from the number of the attempt, so whoever repeats the step has the same key. It is stored
(claimed) before the first attempt, and the answer with it after the last; a step that is repeated
gets the stored answer. Between the two a worker can die, and then nobody here knows whether the
effect happened: what settles that is what the receiver can do, and each effect says so (`Guard`).
"""

import enum
import random
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import quote

from streamlanes.durable.backoff import Backoff
from streamlanes.durable.caps import BELOW, REACHED, SPEND, reached
from streamlanes.durable.database import Database, Done, Write
from streamlanes.durable.errors import Diverged, DurableError, Full, InDoubt, LeaseLost, StateError
from streamlanes.durable.fence import FENCE, HELD, fenced, held, lost
from streamlanes.durable.points import Point, reach
from streamlanes.durable.state import decode, encode
from streamlanes.durable.tracing import SpanKind, Trace, noted
from streamlanes.durable.values import Lease
from streamlanes.durable.waits import Waits

T = TypeVar("T")

_CLAIM = """INSERT INTO effects (key, thread_id, name, status, answer, epoch)
SELECT :key, thread_id, :name, 'claimed', '', epoch FROM executions
WHERE thread_id = :thread_id AND token = :token AND expires > {now}{share}
ON CONFLICT DO NOTHING"""
_STATUS = "SELECT status, answer FROM effects WHERE key = :key"
_FOUND = "SELECT status, answer, name FROM effects WHERE key = :key"
_ATTEMPTS = "SELECT attempt, status FROM attempts WHERE key = :key ORDER BY attempt"
_BEGIN = f"""INSERT INTO attempts (key, attempt, status, prompt_tokens, output_tokens, price_usd)
SELECT key, :attempt, 'begun', NULL, NULL, NULL
FROM effects WHERE key = :key AND status = 'claimed' AND {BELOW} AND {FENCE}
ON CONFLICT DO NOTHING"""
_BEGUN = "SELECT 1 FROM attempts WHERE key = :key AND attempt = :attempt"
# What an attempt cost is said once: one that failed with a bill keeps it when its effect is settled.
_END = f"""UPDATE attempts SET status = :how, prompt_tokens = coalesce(prompt_tokens, :prompt_tokens),
    output_tokens = coalesce(output_tokens, :output_tokens), price_usd = coalesce(price_usd, :price_usd)
WHERE key = :key AND attempt = :attempt AND {FENCE}"""
_RECORD = f"""UPDATE effects SET status = 'done', answer = :answer
WHERE key = :key AND status = 'claimed' AND {FENCE}"""
_LEDGER = """SELECT a.key, a.attempt, a.status, a.prompt_tokens, a.output_tokens, a.price_usd
FROM attempts a JOIN effects f ON f.key = a.key WHERE f.thread_id = :thread_id ORDER BY a.key, a.attempt"""


class Guard(enum.StrEnum):
    """What makes it safe to repeat an effect whose outcome nobody here knows."""

    NATURAL = "natural"  # done twice is done once (a PUT, a read): needs no claim and no record
    KEY = "key"  # the receiver de-duplicates by key: repeat with the same one
    LOOKUP = "lookup"  # the receiver cannot, but can be asked whether it has done it
    UNDO = "undo"  # the receiver can take it back: undo, then repeat
    NONE = "none"  # none of these: never repeat, a person decides


@dataclass(frozen=True, slots=True)
class Answer:
    """What an attempt came to. value: JSON.

    Tokens and price are what this attempt cost: nothing, unless it says so. None in one of them: nobody
    knows, and then none of the three is kept.
    """

    value: object
    prompt_tokens: int | None = 0
    output_tokens: int | None = 0
    price_usd: float | None = 0.0


class NotDone(Exception):
    """Raised by `perform` where the effect certainly did not happen, and cost nothing: safe to repeat under
    any guard."""


class Billed(Exception):
    """Raised by `perform` where an attempt failed and it is known what it cost all the same: a model's answer
    that broke off, one that cannot be used. Whether the effect happened is known as little as after any
    error; raise it from that one."""

    def __init__(self, prompt_tokens: int, output_tokens: int, price_usd: float) -> None:
        super().__init__(f"it cost {prompt_tokens:,} + {output_tokens:,} tokens, {price_usd:.4f} USD")
        self.prompt_tokens, self.output_tokens, self.price_usd = prompt_tokens, output_tokens, price_usd

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.prompt_tokens, self.output_tokens, self.price_usd))


@dataclass(frozen=True, slots=True)
class Effect:
    """How to do something once.

    perform: called with a reference and the payload; what it raises counts as "nobody knows", save
    NotDone. The reference is the key; under UNDO it has the attempt's number too, since each attempt
    is taken back by itself.
    lookup: under LOOKUP, the answer for a reference, or None where it was not done.
    undo: under UNDO, takes a reference back; it must not mind one that was never done.
    Raises DurableError for a guard that has nothing to guard with.
    """

    name: str
    perform: Callable[[str, object], Answer | Awaitable[Answer]]
    guard: Guard = Guard.KEY
    lookup: Callable[[str], Answer | Awaitable[Answer | None] | None] | None = None
    undo: Callable[[str], Awaitable[None] | None] | None = None
    backoff: Backoff = field(default_factory=Backoff)

    def __post_init__(self) -> None:
        for guard, given in ((Guard.LOOKUP, self.lookup), (Guard.UNDO, self.undo)):
            if self.guard is guard and given is None:
                what = f"effect {self.name} is under guard {guard} and has no {guard}"
                raise DurableError(None, what, f"give it `{guard}`, or the guard that its receiver allows")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A line of the ledger. status: begun (and nobody knows), failed, not-done, done.

    Tokens and price are None together: nobody knows what it cost. It is under way, its worker died, or it
    failed and did not say (see Billed).
    """

    key: str
    attempt: int
    status: str
    prompt_tokens: int | None
    output_tokens: int | None
    price_usd: float | None


def effect_key(thread_id: str, step: int, call: int) -> str:
    """The idempotency key of a call: the same for every worker and every attempt."""
    return f"{quote(thread_id, safe='')}/{step}/{call}"


class Effects:
    """Effects and their ledger in one database."""

    def __init__(
        self, database: Database, draw: random.Random | None = None, trace: Trace | None = None
    ) -> None:
        self._database = database
        self._draw = draw or random.Random()
        self._trace = trace

    def ledger(self, thread_id: str) -> Sequence[Attempt]:
        """Every attempt of an execution."""
        return [Attempt(*row) for row in self._database.read(_LEDGER, {"thread_id": thread_id})]

    async def once(self, lease: Lease, key: str, effect: Effect, payload: object, waits: Waits) -> object:
        """Do an effect, or give back what it came to before. Raises LeaseLost, InDoubt, CapReached,
        Diverged where the key is another effect's, and what the last attempt raised."""
        if effect.guard is Guard.NATURAL:
            return (await self._naturally(key, effect, payload, waits)).value
        stored, before = await waits.result(self._claim(lease, key, effect))
        if stored is not None:
            return decode(lease.thread_id, f"the answer of effect {key}", stored)
        tried = len(before)
        doubt = before[-1] if before else None
        answer: Answer | None = None
        for left in reversed(range(effect.backoff.attempts)):
            try:
                answer = await self._settled(lease, key, effect, doubt)
                if answer is None:
                    tried += 1
                    answer = await self._attempt(lease, key, effect, payload, tried, waits)
                break
            except DurableError:
                raise
            except Exception as error:
                doubt = (tried, _how(error))
                if left:
                    await waits.sleep(effect.backoff.wait_s(tried, self._draw))
                else:  # never leave by an error what may have happened and can be settled
                    answer = await self._settled(lease, key, effect, doubt)
                    if answer is None:
                        raise
        assert answer is not None
        await self._record(lease, key, effect, answer, tried, waits)
        return answer.value

    async def _naturally(self, key: str, effect: Effect, payload: object, waits: Waits) -> Answer:
        for attempt in range(1, effect.backoff.attempts + 1):
            try:
                return await _awaited(effect.perform(key, payload))
            except Exception:
                if attempt == effect.backoff.attempts:
                    raise
                await waits.sleep(effect.backoff.wait_s(attempt, self._draw))
        raise AssertionError("no attempt")

    async def _attempt(
        self, lease: Lease, key: str, effect: Effect, payload: object, attempt: int, waits: Waits
    ) -> Answer:
        """One attempt, in the ledger before it begins and after it failed."""
        await waits.result(self._begin(lease, key, attempt))
        reach(Point.BEFORE_EFFECT)
        try:
            with noted(self._trace, lease, SpanKind.ATTEMPT, effect.name, key=key, attempt=attempt):
                answer = await _awaited(effect.perform(_reference(effect, key, attempt), payload))
        except Exception as error:
            await waits.result(self._end(lease, key, attempt, error))
            if effect.guard is Guard.NONE and not isinstance(error, NotDone):
                raise _doubt(lease, key, effect) from error
            raise
        reach(Point.AFTER_EFFECT)
        return answer

    async def _settled(
        self, lease: Lease, key: str, effect: Effect, last: tuple[int, str] | None
    ) -> Answer | None:
        """Settle an attempt of which nobody knows whether it happened: its answer, or None for "do it"."""
        if last is None or last[1] == "not-done":
            return None
        if effect.guard is Guard.LOOKUP and effect.lookup is not None:
            found = await _awaited(effect.lookup(key))
            return None if found is None else _looked_up(found)
        if effect.guard is Guard.UNDO and effect.undo is not None:
            await _awaited(effect.undo(_reference(effect, key, last[0])))
        if effect.guard is Guard.NONE:
            raise _doubt(lease, key, effect)
        return None

    async def _record(
        self, lease: Lease, key: str, effect: Effect, answer: Answer, attempt: int, waits: Waits
    ) -> None:
        """Keep the answer. Where that is certainly refused the effect is taken back, if it can be: whoever
        has the execution now does it anew. A connection lost at commit leaves it open, and so does this:
        the row says what is true when the execution goes on."""
        try:
            record = self._recording(lease, key, answer, attempt)
            await waits.result(self._database.submit(record))
        except (LeaseLost, Full, StateError):
            if effect.guard is Guard.UNDO and effect.undo is not None:
                await _awaited(effect.undo(_reference(effect, key, attempt)))
            raise

    def _recording(self, lease: Lease, key: str, answer: Answer, attempt: int) -> Write[None]:
        text = encode(lease.thread_id, answer.value, f"the answer of effect {key}").decode()
        params = {
            **held(lease),
            "key": key,
            "answer": text,
            "how": "done",
            "attempt": attempt,
            **_cost(answer),
        }

        def kept(done: Sequence[Done]) -> None:
            if done[0].changed == 0 and list(done[3].rows) != [("done", text)]:
                raise lost(lease)

        statements = tuple((each, params) for each in (_RECORD, SPEND, _END, _STATUS))
        return Write(lease.thread_id, statements, kept)

    def _claim(
        self, lease: Lease, key: str, effect: Effect
    ) -> "Future[tuple[str | None, Sequence[tuple[int, str]]]]":
        """Store the key; answered with the stored answer, if there is one, and the attempts so far. Fails
        with Diverged where another effect has the key."""
        params = {**held(lease), "key": key, "name": effect.name}
        statements = ((_CLAIM, params), (_FOUND, params), (_ATTEMPTS, params))

        def answer(done: Sequence[Done]) -> tuple[str | None, Sequence[tuple[int, str]]]:
            _, found, attempts = done
            if not found.rows:
                raise lost(lease)
            ((how, stored, name),) = found.rows
            if name != effect.name:
                what = f"call {key} was effect {name} before, and is {effect.name} now"
                raise Diverged(lease.thread_id, what, "let a step make the same calls in the same order")
            return stored if how == "done" else None, [(number, how) for number, how in attempts.rows]

        return self._database.submit(Write(lease.thread_id, statements, answer))

    def _begin(self, lease: Lease, key: str, attempt: int) -> "Future[None]":
        """Put an attempt in the ledger, if no cap is in its way."""
        params = {**held(lease), "key": key, "attempt": attempt}
        statements = tuple((each, params) for each in (_BEGIN, HELD, _BEGUN, REACHED))

        def answer(done: Sequence[Done]) -> None:
            begun, mine, there, caps = done
            if begun.changed == 0 and not mine.rows:
                raise lost(lease)
            if begun.changed == 0 and not there.rows and caps.rows:
                raise reached(lease, caps.rows[0])

        return self._database.submit(Write(lease.thread_id, statements, answer))

    def _end(self, lease: Lease, key: str, attempt: int, error: Exception) -> "Future[None]":
        """Note that an attempt failed, and what it cost where that is known."""
        ended = {**_cost_of(error), "key": key, "attempt": attempt, "how": _how(error)}
        return self._database.submit(fenced(lease, _END, ended, before=SPEND))


def _cost(of: Answer | Billed) -> dict[str, object]:
    """What an attempt cost, as its columns: NULL in all where nobody knows."""
    if of.prompt_tokens is None or of.output_tokens is None or of.price_usd is None:
        return {"prompt_tokens": None, "output_tokens": None, "price_usd": None}
    return {
        "prompt_tokens": of.prompt_tokens,
        "output_tokens": of.output_tokens,
        "price_usd": float(of.price_usd),
    }


def _cost_of(error: Exception) -> dict[str, object]:
    """What a failed attempt cost, as its columns."""
    if isinstance(error, Billed):
        return _cost(error)
    return _cost(Answer(None) if isinstance(error, NotDone) else Answer(None, None))


def _looked_up(found: Answer) -> Answer:
    """An answer that its receiver was asked for: one without a cost does not say that there was none."""
    said = found.prompt_tokens or found.output_tokens or found.price_usd
    return found if said else replace(found, prompt_tokens=None)


def _how(error: Exception) -> str:
    return "not-done" if isinstance(error, NotDone) else "failed"


def _reference(effect: Effect, key: str, attempt: int) -> str:
    return f"{key}/{attempt}" if effect.guard is Guard.UNDO else key


def _doubt(lease: Lease, key: str, effect: Effect) -> InDoubt:
    what = f"nobody knows whether effect {effect.name} {key} happened"
    return InDoubt(lease.thread_id, what, "look at its receiver, then record the answer or remove the key")


async def _awaited(value: T | Awaitable[T]) -> T:
    return await value if isinstance(value, Awaitable) else value
