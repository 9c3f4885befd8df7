"""What senders do to a receiver that fails after its effect: how many effects a call comes to.

Each sender is a way of keeping the idempotency key. The receiver carries the first request for each
effect out and then resets the connection, so every call is sent at least twice; half of the wrong
controls also die between effect and record, as a worker does, and start anew with what was stored.
"""

import contextlib
import json
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from streamlanes.durable.backoff import Backoff
from streamlanes.durable.database import Database
from streamlanes.durable.effects import Answer, Effect, Effects, Guard, NotDone, effect_key
from streamlanes.durable.leases import Leases
from streamlanes.durable.posting import MAX_ANSWER_BYTES, Caller, Refused
from streamlanes.durable.receiver import Receiver
from streamlanes.durable.sqlite import SQLite
from streamlanes.durable.values import Lease
from streamlanes.durable.waits import Blocking, drive

T = TypeVar("T")

THREADS = 16
ATTEMPTS = 4
"""One try and three more."""
QUICK = Backoff(attempts=ATTEMPTS, first_s=0.002, most_s=0.01)
LEDGER_LINE_BYTES = 200
"""Room that a ledger is given for each key that was sent, beside what else it holds."""
_LOST = (OSError, HTTPException, Refused, NotDone)


@dataclass(frozen=True)
class Sent:
    """What one sender did. effects: in the receiver's ledger. must_duplicate: whether it is wrong.
    durability: of the store of the keys, as Database.durability."""

    name: str
    says: str
    must_duplicate: bool
    calls: int
    ok: int
    effects: int
    duplicated: int
    lost: int
    durability: str

    @property
    def as_expected(self) -> bool:
        """Whether a right sender made each effect once, and a wrong one was found out."""
        exact = self.effects == self.ok == self.calls and not self.duplicated and not self.lost
        return bool(self.duplicated) if self.must_duplicate else exact


@dataclass(frozen=True)
class Known:
    """What every call of a sender has."""

    url: str
    caller: Caller
    effects: Effects
    lease: Lease


class Died(Exception):
    """The worker's death, in the place where it would be."""


Sender = Callable[[Known, int], object]


def run_senders(calls: int, folder: Path) -> list[Sent]:
    """Every sender, each with a receiver of its own. folder: for the stores."""
    made = []
    for name, (says, wrong, endpoint, sender) in SENDERS.items():
        receiver = Receiver(fails_first=True)
        database = SQLite(folder / f"{name}.db")
        try:
            ok = _all(calls, database, receiver.url, sender)
            ledger = receiver.ledger(endpoint)
        finally:
            database.close()
            receiver.close()
        made.append(_sent(name, says, wrong, calls, ok, ledger, database.durability))
    return made


def _all(calls: int, database: Database, url: str, sender: Sender) -> int:
    """Make all calls; returns how many ended well."""
    claimed = Leases(database).claim("effects", "sender", 600.0).result()
    assert claimed is not None
    with Caller() as caller, ThreadPoolExecutor(THREADS) as pool:
        known = Known(url, caller, Effects(database), claimed.lease)
        return sum(pool.map(partial(_ended_well, sender, known), range(calls)))


def _ended_well(sender: Sender, known: Known, call: int) -> bool:
    try:
        sender(known, call)
    except _LOST:
        return False
    return True


def _sent(  # one for each of its fields
    name: str, says: str, wrong: bool, calls: int, ok: int, ledger: Counter[str], durability: str
) -> Sent:
    refs = [_ref(call) for call in range(calls)]
    return Sent(
        name,
        says,
        wrong,
        calls,
        ok,
        effects=ledger.total(),
        duplicated=sum(times - 1 for times in ledger.values()),
        lost=sum(not ledger[ref] for ref in refs),
        durability=durability,
    )


def _ref(call: int) -> str:
    return f"charge {call}"


def _post(known: Known, endpoint: str, call: int, key: str | None = None) -> Answer:
    text = known.caller.post(f"{known.url}/{endpoint}", {"ref": _ref(call)}, key)
    return Answer(json.loads(text)["answer"])


def _once(known: Known, call: int, effect: Effect) -> object:
    key = effect_key("effects", 0, call)
    return drive(known.effects.once(known.lease, key, effect, _ref(call), Blocking()))


def guarded(known: Known, call: int) -> object:
    """The key is stored before the first attempt, and the same for all attempts."""
    effect = Effect("charge", lambda key, _: _post(known, "guarded", call, key), backoff=QUICK)
    return _once(known, call, effect)


def asked_first(known: Known, call: int) -> object:
    """For a receiver that cannot be changed: before an attempt is repeated, it is asked."""

    def lookup(_: str) -> Answer | None:
        found = known.caller.get(f"{known.url}/done?ref={quote(_ref(call))}")
        return Answer(json.loads(found)["answer"]) if found else None

    def perform(_: str, __: object) -> Answer:
        return _post(known, "naive", call)

    return _once(known, call, Effect("charge", perform, Guard.LOOKUP, lookup=lookup, backoff=QUICK))


def without_key(known: Known, call: int) -> object:
    """Retry, and nothing else."""
    return _retried(lambda: _post(known, "naive", call))


def key_per_attempt(known: Known, call: int) -> object:
    """A new key for each attempt."""
    return _retried(lambda: _post(known, "guarded", call, str(uuid.uuid4())))


def key_stored_after(known: Known, call: int) -> object:
    """The key is stored once the effect is done; a worker that dies between has stored none."""
    stored: dict[int, str] = {}

    def life(dies: bool) -> object:
        key = stored.get(call) or str(uuid.uuid4())
        answer = _retried(lambda: _post(known, "guarded", call, key))
        if dies:
            raise Died
        stored[call] = key
        return answer

    return _two_lives(life)


def key_in_memory(known: Known, call: int) -> object:
    """The key is made before the first attempt, and lives in the worker: its successor makes another."""

    def life(dies: bool) -> object:
        keys = {call: str(uuid.uuid4())}
        answer = _retried(lambda: _post(known, "guarded", call, keys[call]))
        if dies:
            raise Died
        return answer

    return _two_lives(life)


def _retried(do: Callable[[], T]) -> T:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return do()
        except _LOST:
            if attempt == ATTEMPTS:
                raise
    raise AssertionError("no attempt")


def _two_lives(life: Callable[[bool], object]) -> object:
    try:
        return life(True)
    except Died:
        return life(False)


SENDERS: dict[str, tuple[str, bool, str, Sender]] = {
    "guarded": ("key stored before the first attempt", False, "guarded", guarded),
    "asked-first": ("unchanged receiver, asked before a repeat", False, "naive", asked_first),
    "no-key": ("retry without a key", True, "naive", without_key),
    "key-per-attempt": ("a new key for each attempt", True, "guarded", key_per_attempt),
    "key-stored-after": ("key stored after the effect, worker dies", True, "guarded", key_stored_after),
    "key-in-memory": ("key only in memory, worker dies", True, "guarded", key_in_memory),
}


@dataclass(frozen=True)
class Foreign:
    """What someone's own endpoint did with keys sent twice. ok: keys that were answered both times.

    differing: those whose second answer was not the first: a second effect, most likely.
    duplicated: effects beyond the first of each key that was sent, answered or not, from the endpoint's own
    ledger; None where that does not say.
    """

    url: str
    calls: int
    ok: int
    differing: int
    duplicated: int | None
    why_not_counted: str | None


def run_against(url: str, calls: int, ledger: str | None) -> Foreign:
    """Send each key twice, as if the first answer had been lost.

    ledger: address that answers {key: times} as JSON, read at the end.
    """
    answers: dict[str, list[str]] = {}
    run = uuid.uuid4().hex[:8]

    def call(number: int) -> None:
        key = effect_key(f"try-{run}", 0, number)
        got: list[str] = []
        answers[key] = got
        with contextlib.suppress(*_LOST):
            for _ in range(2):
                got.append(_retried(lambda: caller.post(url, {"ref": key}, key)))

    with Caller() as caller:
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in pool.map(call, range(calls)):
                pass
        duplicated, why = _from_ledger(caller, ledger, answers)
    both = [got for got in answers.values() if len(got) == 2]
    return Foreign(url, calls, len(both), sum(one != two for one, two in both), duplicated, why)


def _from_ledger(
    caller: Caller, ledger: str | None, answers: Mapping[str, Sequence[str]]
) -> tuple[int | None, str | None]:
    """Effects beyond the first of each key that was sent, or why they are not known. answers: by key."""
    if ledger is None:
        return None, "no ledger was named: equal answers do not prove a single effect; name one with --ledger"
    try:
        found = caller.get(ledger, MAX_ANSWER_BYTES + LEDGER_LINE_BYTES * len(answers))
    except _LOST as error:
        return None, f"the ledger cannot be read ({error})"
    try:
        counts = {str(key): int(times) for key, times in json.loads(found or "null").items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None, f"{ledger} does not answer with a JSON object of counts by key"
    # A key that was never answered may have had no effect; one that was answered had one.
    missing = [key for key, got in answers.items() if got and counts.get(key, 0) < 1]
    if missing:
        many = f"{len(missing):,} of the keys that were answered"
        return (
            None,
            f"{ledger} does not have {many}, {missing[0]} for one: is it the ledger of that endpoint?",
        )
    return sum(max(0, counts.get(key, 0) - 1) for key in answers), None
