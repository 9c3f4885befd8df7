"""Controls of chaos: ways of working that must lose or duplicate, and the two halves of "dies after
every step". Trials that find nothing prove something only where these find what they must."""

from collections.abc import Mapping

from streamlanes.chaos.plan import Control, Counts, Size, counted
from streamlanes.chaos.trial import Place, Process, left_of, until
from streamlanes.durable.leases import Leases
from streamlanes.durable.opening import open_database
from streamlanes.durable.points import Point

STEPS = 7
KILLED_AT = 3
LEASE_S = 0.15


def without_a_store(at: Place) -> list[Control]:
    """The controls that keep nothing, one after the other."""
    return [in_a_list(at), naive_retry(at), without_checkpoints(at)]


def in_a_list(at: Place) -> Control:
    """A Python list as queue; its worker is killed in step 3 of 7, and another one starts."""
    strike = {"point": Point.BEFORE_EFFECT, "hit": KILLED_AT, "how": "SIGKILL"}
    begun = _live(at, "list", strike) + _live(at, "list", None, first=False)
    ledger = _ledger(at, "list")
    lost = sum(not ledger.get(f"list/{step}") for step in range(STEPS))
    counts = Counts(lost=lost, duplicated=_beyond(ledger), redone=len(begun) - len(set(begun)))
    says = f"a Python list as queue, killed at step {KILLED_AT} of {STEPS}"
    return Control("python-list", says, ("lost",), counts)


def naive_retry(at: Place) -> Control:
    """No checkpoint and no key: killed after the third effect, done again from the start."""
    strike = {"point": Point.AFTER_EFFECT, "hit": KILLED_AT, "how": "SIGKILL"}
    begun = _live(at, "naive", strike) + _live(at, "naive", None)
    ledger = _ledger(at, "naive")
    counts = Counts(duplicated=_beyond(ledger), redone=len(begun) - len(set(begun)))
    says = f"retry from the start without a key, killed after effect {KILLED_AT} of {STEPS}"
    return Control("naive-retry", says, ("duplicated", "redone"), counts)


def without_checkpoints(at: Place) -> Control:
    """A worker that dies after every step and keeps nothing never comes to its end."""
    strike = {"point": Point.AFTER_CHECKPOINT, "hit": 1, "how": "SIGKILL"}
    begun = [step for _ in range(STEPS) for step in _live(at, "naive", strike)]
    done = (STEPS - 1) in begun
    counts = Counts(unfinished=int(not done), redone=len(begun) - len(set(begun)))
    says = f"dies after every step, {STEPS} lives for {STEPS} steps, no checkpoints"
    return Control("die-after-every-step-bare", says, ("unfinished", "redone"), counts)


def with_checkpoints(at: Place) -> Control:
    """The same with checkpoints: each life carries it one step on, and nothing is lost or done twice."""
    size = Size(executions=1, steps=STEPS, lease_s=LEASE_S, pace_s=0.0)
    names = ["every-step"]
    database = open_database(at.store, schema=at.schema)
    strike = {"point": Point.AFTER_CHECKPOINT, "hit": 1, "how": "SIGKILL"}
    lives: list[Process] = []
    try:
        Leases(database).create(names[0]).result()
        while Leases(database).open() and len(lives) < STEPS:
            lives.append(_carried(at, "durable", strike, lease_s=LEASE_S))
        lives.append(_carried(at, "durable", None, lease_s=LEASE_S))  # sends what is left in the outbox
        kept, done, begun = left_of(database, names, lives)
        counts = counted(size, names, kept, done, at.receiver.ledger("guarded"), begun)
    finally:
        database.close()
    says = f"dies after every step, {STEPS} lives for {STEPS} steps, checkpoints"
    return Control(f"die-after-every-step-{at.kind}", says, (), counts)


def _live(at: Place, mode: str, strike: Mapping[str, object] | None, *, first: bool = True) -> list[int]:
    """One life of a worker; the steps it began."""
    life = _carried(at, mode, strike, first=first)
    return [word["step"] for word in life.said if word["event"] == "step"]


def _carried(
    at: Place,
    mode: str,
    strike: Mapping[str, object] | None,
    *,
    first: bool = True,
    lease_s: float = LEASE_S,
) -> Process:
    """Run a worker to its end or its death."""
    task = {"mode": mode, "owner": "worker", "lease_s": lease_s, "steps": STEPS, "threads": 1, "pace_s": 0.0}
    life = at.start({**task, "strike": strike, "first": first})
    try:
        until(life.over, [life])
    finally:
        life.child.end(grace_s=0.5)
    return life


def _ledger(at: Place, name: str) -> dict[str, int]:
    return {ref: times for ref, times in at.receiver.ledger("naive").items() if ref.startswith(f"{name}/")}


def _beyond(ledger: Mapping[str, int]) -> int:
    return sum(times - 1 for times in ledger.values())
