"""Two runtime versions at once, and the old one drains: executions stay on the one they began with."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from streamlanes.demo.figures import Compare, Figure, Stage
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database
from streamlanes.durable.errors import DurableError
from streamlanes.durable.opening import open_database
from streamlanes.durable.running import Agent, Last, Step, Worker, carry_on, run_with_checkpoint
from streamlanes.durable.versions import Phase, Standing, Versions, point_of
from streamlanes.durable.waits import Blocking, drive

OLD, NEW = 1, 2
STEPS = 3
BEGUN = [f"begun-{number}" for number in range(3)]
SHARED = [f"shared-{number}" for number in range(20)]


class Stopped(Exception):
    """The old worker is stopped for the deployment, after its first step."""


def act(stage: Stage) -> Sequence[Figure]:
    """Three executions begin under version 1. Then version 2 gets half of the new ones, then all."""
    database = open_database(str(stage.folder / "store.db"))
    try:
        with _worker(database, OLD) as old, _worker(database, NEW) as new:
            return _story(database, old, new)
    finally:
        database.close()


def _story(database: Database, old: Worker, new: Worker) -> list[Figure]:
    versions = Versions(database)
    for name in BEGUN:
        _begin(name, old)
    versions.share({OLD: 0.5, NEW: 0.5}).result()
    for name in SHARED:
        new.leases.create(name).result()
    split = versions.standing()
    versions.share({NEW: 1.0}).result()
    refused = _asked(BEGUN[0], new)
    by_new = _carry_out(new)
    draining = versions.standing()[0]
    by_old = _carry_out(old)
    drained = versions.standing()[0]
    to_old = sum(point_of(name) < 0.5 for name in SHARED)
    return [
        Figure("executions begun under version 1", len(BEGUN), _of(split, OLD) - to_old),
        Figure("new ones that their hash gives to version 2", len(SHARED) - to_old, _of(split, NEW)),
        Figure("versions that drain while both have a share", 0, _draining(split)),
        Figure("an old execution, asked of a version 2 worker", "OtherVersion", refused),
        Figure("executions that version 2 carried out", len(SHARED) - to_old, by_new),
        Figure("phase of version 1 then", str(Phase.DRAINING), str(draining.phase)),
        Figure("executions that version 1 carried out", len(BEGUN) + to_old, by_old),
        Figure("phase of version 1 at the end", str(Phase.DRAINED), str(drained.phase)),
        Figure("time it took to drain", 0.0, drained.drained_s, Compare.AT_LEAST, "s"),
        Figure("steps on another version than their first", 0, _mixed(database)),
    ]


def _agent(version: int) -> Agent:
    """The code of a version, which says so in each state."""

    async def agent(state: object, step: Step) -> object:
        return Last(version) if step.number == STEPS - 1 else version

    return agent


def _begin(name: str, worker: Worker) -> None:
    """Carry an execution through its first step, and be stopped in the second."""

    async def agent(state: object, step: Step) -> object:
        if step.number:
            raise Stopped
        return await _agent(worker.version)(state, step)

    try:
        run_with_checkpoint(agent, name, worker)
    except Stopped:
        return


def _carry_out(worker: Worker) -> int:
    """Carry out all that a worker can claim; how many came to their end."""
    done = 0
    while claimed := worker.leases.claim_any(worker.owner).result():
        drive(carry_on(_agent(worker.version), claimed, worker, Blocking()))
        done += 1
    return done


def _asked(name: str, worker: Worker) -> str:
    """How it ends to ask a worker for an execution, by the name of the error."""
    try:
        run_with_checkpoint(_agent(worker.version), name, worker)
    except DurableError as error:
        return type(error).__name__
    return "carried out"


def _mixed(database: Database) -> int:
    """Checkpoints, and states in them, of another version than their execution's first."""
    store = Checkpoints(database, NEW)
    histories = [store.history(name) for name in (*BEGUN, *SHARED)]
    return sum(
        (row.version, row.state) != (history[0].version, str(history[0].version).encode())
        for history in histories
        for row in history
    )


def _of(standings: Sequence[Standing], version: int) -> int:
    return sum(each.left for each in standings if each.version == version)


def _draining(standings: Sequence[Standing]) -> int:
    return sum(each.phase is not Phase.ACTIVE for each in standings)


@contextmanager
def _worker(database: Database, version: int) -> Iterator[Worker]:
    worker = Worker(database, f"version-{version}", version=version)
    try:
        yield worker
    finally:
        worker.close()
