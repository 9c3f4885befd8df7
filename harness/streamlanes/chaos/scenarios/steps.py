"""Scenario `steps`: agents with one effect and one message a step."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from streamlanes.chaos import controls
from streamlanes.chaos.place import Place, Process
from streamlanes.chaos.plan import Control, Counts, Kill, Size
from streamlanes.chaos.scenarios.base import Left, Played, beyond, names, task
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database
from streamlanes.durable.leases import Leases
from streamlanes.durable.opening import open_database
from streamlanes.durable.points import OF_STEPS, Point


class Steps:
    """See Played."""

    points = OF_STEPS

    def lay(self, database: Database, kill: Kill, size: Size) -> None:
        create(database, names(kill, size))

    def tasks(self, kill: Kill, size: Size) -> Sequence[Mapping[str, object]]:
        return [task("durable", kill, size)]

    def counts(self, kill: Kill, size: Size, left: Left) -> Counts:
        mine = names(kill, size)
        return counted(size, mine, states(left.database, mine), done(left, mine), left.ledger, left.begun())

    def controls(self, at: Place) -> Sequence[Control]:
        return controls.without_a_store(at)


STEPS: Played = Steps()


def create(database: Database, executions: Sequence[str]) -> None:
    """Put executions there."""
    leases = Leases(database)
    for created in [leases.create(name) for name in executions]:
        created.result()


def states(database: Database, executions: Sequence[str], version: int = 1) -> dict[str, list[Any]]:
    """The states that are kept, as a runtime version reads them."""
    store = Checkpoints(database, version)
    return {name: [json.loads(row.state) for row in store.history(name)] for name in executions}


def done(left: Left, executions: Sequence[str]) -> list[str]:
    """Executions that the store or any worker calls done."""
    leases = Leases(left.database)
    found = {name for name in executions if leases.status(name) == "done"}
    return sorted(found | {word["thread_id"] for word in left.said("done")})


def expected_total(steps: int) -> int:
    """What the state of a finished execution adds up to."""
    return steps * (steps + 1) // 2


def counted(
    size: Size,
    executions: Sequence[str],
    kept: Mapping[str, Sequence[Mapping[str, Any]]],
    finished: Sequence[str],
    ledger: Mapping[str, int],
    begun: Sequence[tuple[str, int]],
) -> Counts:
    """What a trial came to.

    kept: states by execution, in the order of their steps. finished: executions that a store or a worker
    calls done. ledger: how often each effect happened. begun: every step that any worker began.
    """
    refs = [f"{name}/{step}" for name in executions for step in range(size.steps)]
    refs += [f"mail {ref}" for ref in refs]
    totals = [expected_total(step + 1) for step in range(size.steps)]
    complete = {
        name
        for name in executions
        if [state.get("total") for state in kept.get(name, ())] == totals
        and all(ledger.get(f"{name}/{step}", 0) for step in range(size.steps))
    }
    return Counts(
        lost=rows_lost(size, executions, kept) + sum(not ledger.get(ref, 0) for ref in refs),
        duplicated=beyond(ledger),
        redone=len(begun) - len(set(begun)),
        false_done=len(set(finished) - complete),
        unfinished=len(set(executions) - set(finished)),
    )


def rows_lost(size: Size, executions: Sequence[str], kept: Mapping[str, Sequence[object]]) -> int:
    """Checkpoints that are not there."""
    return sum(max(0, size.steps - len(kept.get(name, ()))) for name in executions)


def with_checkpoints(at: Place) -> Control:
    """Dies after every step and keeps checkpoints: each life carries it one step on, and nothing is lost
    or done twice."""
    size = Size(executions=1, steps=controls.STEPS, lease_s=controls.LEASE_S, pace_s=0.0)
    mine, told = ["every-step"], controls.task("durable")
    dying = {**told, "strike": controls.strike(Point.AFTER_CHECKPOINT, 1)}
    database = open_database(at.store, schema=at.schema)
    lives: list[Process] = []
    try:
        create(database, mine)
        while Leases(database).open() and len(lives) < controls.STEPS:
            lives.append(at.live(dying))
        lives.append(at.live({**told, "strike": None}))  # sends what is left in the outbox
        words = [word for life in lives for word in life.said]
        left = Left(database, at.receiver.ledger("guarded"), words)
        kept = states(database, mine)
        counts = counted(size, mine, kept, done(left, mine), left.ledger, left.begun())
    finally:
        database.close()
    says = f"dies after every step, {controls.STEPS} lives for {controls.STEPS} steps, checkpoints"
    return Control(f"die-after-every-step-{at.kind}", says, (), counts)
