"""Scenario `rainbow`: two runtime versions at once, one of them draining.

Half of the executions begin under version 1 alone. Then new thread_ids are shared between both
versions by their hash, and then version 1 is closed while its executions are under way. A worker of
each version runs; either is struck, and a worker of the same version comes in its place.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from streamlanes.chaos import controls
from streamlanes.chaos.place import Place
from streamlanes.chaos.plan import Control, Counts, Kill, Size
from streamlanes.chaos.scenarios.base import Left, Played, beyond, task
from streamlanes.chaos.scenarios.steps import create, done, rows_lost
from streamlanes.chaos.workers.rainbow import added
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database
from streamlanes.durable.opening import open_database
from streamlanes.durable.points import Point
from streamlanes.durable.state import decode
from streamlanes.durable.values import Checkpoint
from streamlanes.durable.versions import Versions, point_of

OLD, NEW = 1, 2
SHARE = 0.5
"""Of new executions that the old version still gets before it is closed."""


class Rainbow:
    """See Played."""

    points = (
        Point.BEFORE_EFFECT,
        Point.AFTER_EFFECT,
        Point.BEFORE_CHECKPOINT,
        Point.AFTER_CHECKPOINT,
        Point.IN_HEARTBEAT,
        Point.IN_COMMIT,
        Point.AFTER_COMMIT,
    )

    def lay(self, database: Database, kill: Kill, size: Size) -> None:
        versions = Versions(database)
        before, after = executions(kill, size)
        versions.share({OLD: 1.0}).result()
        create(database, before)
        versions.share({OLD: SHARE, NEW: 1.0 - SHARE}).result()
        create(database, after)
        versions.share({NEW: 1.0}).result()

    def tasks(self, kill: Kill, size: Size) -> Sequence[Mapping[str, object]]:
        struck, beside = (OLD, NEW) if kill.number % 2 else (NEW, OLD)
        return [task("rainbow", kill, size, version=one, claims=one) for one in (struck, beside)]

    def counts(self, kill: Kill, size: Size, left: Left) -> Counts:
        mine = expected(kill, size)
        store = Checkpoints(left.database, NEW)
        kept = {name: list(store.history(name)) for name in mine}
        ran = [(word["thread_id"], word["version"]) for word in left.said("step")]
        return counted(size, mine, kept, ran, done(left, list(mine)), left.ledger, left.begun())

    def controls(self, at: Place) -> Sequence[Control]:
        return [in_place(at)]


RAINBOW: Played = Rainbow()


def executions(kill: Kill, size: Size) -> tuple[list[str], list[str]]:
    """Those that begin under the old version alone, and those whose hash decides: as many again, of
    each version one at least."""
    before = [f"k{kill.number}-a{number}" for number in range(size.executions)]
    names = [f"k{kill.number}-b{number}" for number in range(64)]
    old = [name for name in names if point_of(name) < SHARE]
    new = [name for name in names if point_of(name) >= SHARE]
    return before, [*old[:1], *new[: max(1, size.executions - 1)]]


def expected(kill: Kill, size: Size) -> dict[str, int]:
    """The version each execution must stay on, from the names alone."""
    before, after = executions(kill, size)
    return dict.fromkeys(before, OLD) | {name: NEW if point_of(name) >= SHARE else OLD for name in after}


def counted(
    size: Size,
    versions: Mapping[str, int],
    kept: Mapping[str, Sequence[Checkpoint]],
    ran: Sequence[tuple[str, int]],
    finished: Sequence[str],
    ledger: Mapping[str, int],
    begun: Sequence[tuple[str, int]],
) -> Counts:
    """What a trial came to. versions: by execution, the one that it must stay on. ran: execution and
    version of each step's code. For the rest see steps.counted."""
    refs = [f"{name}/{step}" for name in versions for step in range(size.steps)]
    complete = {
        name
        for name, version in versions.items()
        if [_state(row).get("total") for row in kept[name]] == _totals(size, version)
        and all(ledger.get(f"{name}/{step}", 0) for step in range(size.steps))
    }
    wrong = sum(version != versions[name] for name, version in ran)
    wrong += sum(
        (row.version, _state(row).get("version")) != (versions[name], versions[name])
        for name, rows in kept.items()
        for row in rows
    )
    return Counts(
        lost=rows_lost(size, list(versions), kept) + sum(not ledger.get(ref, 0) for ref in refs),
        duplicated=beyond(ledger),
        redone=len(begun) - len(set(begun)),
        false_done=len(set(finished) - complete),
        unfinished=len(set(versions) - set(finished)),
        wrong_version=wrong,
    )


def in_place(at: Place) -> Control:
    """A deployment in place: version 1 is killed in its third step, version 2 takes what it left."""
    name, size = "in-place", Size(executions=1, steps=controls.STEPS)
    database = open_database(at.store, schema=at.schema)
    try:
        create(database, [name])
        struck = controls.strike(Point.BEFORE_CHECKPOINT)
        lives = [
            at.live({**controls.task("rainbow", version=version, claims=OLD), "strike": strike})
            for version, strike in ((OLD, struck), (NEW, None))
        ]
        words = [word for life in lives for word in life.said]
        left = Left(database, at.receiver.ledger("guarded"), words)
        mine = {name: OLD}
        kept = {name: list(Checkpoints(database).history(name))}
        ran = [(word["thread_id"], word["version"]) for word in left.said("step")]
        counts = counted(size, mine, kept, ran, done(left, [name]), left.ledger, left.begun())
    finally:
        database.close()
    says = f"a new version in place of the old, killed in step {controls.KILLED_AT} of {controls.STEPS}"
    return Control("deployment-in-place", says, ("wrong_version", "false_done"), counts)


def _totals(size: Size, version: int) -> list[int]:
    """What the states of an execution add up to, step by step, by the code of its version."""
    return [sum(added(version, step) for step in range(last + 1)) for last in range(size.steps)]


def _state(row: Checkpoint) -> dict[str, Any]:
    state = decode(row.thread_id, f"step {row.step}", row.state)
    return state if isinstance(state, dict) else {}
