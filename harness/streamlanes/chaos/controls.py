"""Controls of chaos: ways of working that must lose or duplicate, and the two halves of "dies after
every step". Trials that find nothing prove something only where these find what they must."""

from collections.abc import Mapping

from streamlanes.chaos.place import Place
from streamlanes.chaos.plan import Control, Counts, How
from streamlanes.chaos.scenarios.base import beyond
from streamlanes.durable.points import Point

STEPS = 7
KILLED_AT = 3
LEASE_S = 0.15


def without_a_store(at: Place) -> list[Control]:
    """The controls that keep nothing, one after the other."""
    return [in_a_list(at), naive_retry(at), without_checkpoints(at)]


def in_a_list(at: Place) -> Control:
    """A Python list as queue; its worker is killed in step 3 of 7, and another one starts."""
    begun = live(at, "list", strike(Point.BEFORE_EFFECT)) + live(at, "list", None, first=False)
    ledger = ledger_of(at, "list")
    lost = sum(not ledger.get(f"list/{step}") for step in range(STEPS))
    counts = Counts(lost=lost, duplicated=beyond(ledger), redone=len(begun) - len(set(begun)))
    says = f"a Python list as queue, killed at step {KILLED_AT} of {STEPS}"
    return Control("python-list", says, ("lost",), counts)


def naive_retry(at: Place) -> Control:
    """No checkpoint and no key: killed after the third effect, done again from the start."""
    begun = live(at, "naive", strike(Point.AFTER_EFFECT)) + live(at, "naive", None)
    ledger = ledger_of(at, "naive")
    counts = Counts(duplicated=beyond(ledger), redone=len(begun) - len(set(begun)))
    says = f"retry from the start without a key, killed after effect {KILLED_AT} of {STEPS}"
    return Control("naive-retry", says, ("duplicated", "redone"), counts)


def without_checkpoints(at: Place) -> Control:
    """A worker that dies after every step and keeps nothing never comes to its end."""
    begun = [step for _ in range(STEPS) for step in live(at, "naive", strike(Point.AFTER_CHECKPOINT, 1))]
    done = (STEPS - 1) in begun
    counts = Counts(unfinished=int(not done), redone=len(begun) - len(set(begun)))
    says = f"dies after every step, {STEPS} lives for {STEPS} steps, no checkpoints"
    return Control("die-after-every-step-bare", says, ("unfinished", "redone"), counts)


def strike(point: Point, hit: int = KILLED_AT) -> Mapping[str, object]:
    """A kill, as a worker is told of it."""
    return {"point": point, "hit": hit, "how": How.KILL}


def live(
    at: Place, mode: str, struck: Mapping[str, object] | None, *, first: bool = True, **more: object
) -> list[int]:
    """One life of a worker; the steps it began."""
    life = at.live({**task(mode, first=first, **more), "strike": struck})
    return [word["step"] for word in life.said if word["event"] == "step"]


def task(mode: str, **more: object) -> dict[str, object]:
    """What a control's worker is told."""
    usual = {"owner": "worker", "lease_s": LEASE_S, "steps": STEPS, "threads": 1, "pace_s": 0.0}
    return {"mode": mode, **usual, **more}


def ledger_of(at: Place, name: str) -> dict[str, int]:
    """What the unguarded endpoint counted of a control."""
    return {ref: times for ref, times in at.receiver.ledger("naive").items() if ref.startswith(f"{name}/")}
