"""A workflow that reads the clock past its log takes another way in replay, and is stopped by name."""

import contextlib
from collections.abc import Callable, Sequence
from itertools import count

from streamlanes.demo.figures import Figure, Stage
from streamlanes.durable.activities import activity, now
from streamlanes.durable.database import Database
from streamlanes.durable.errors import Diverged
from streamlanes.durable.events import Events
from streamlanes.durable.opening import open_database
from streamlanes.durable.replay import EventLog, run_or_replay
from streamlanes.durable.running import Worker


class Died(BaseException):
    """The worker's death, in its last activity."""


@activity
def even() -> None:
    """The way on an even tick."""


@activity
def odd() -> None:
    """The way on an odd one."""


def act(stage: Stage) -> Sequence[Figure]:
    """The clock ticks once a reading, so what was even at first is odd in replay. Read past the log, it
    sends the workflow another way; read through `now()`, it says what it said."""
    database = open_database(str(stage.folder / "store.db"))
    try:
        past, said, changed = _two_lives(database, "past the log", through_the_log=False)
        through, _, _ = _two_lives(database, "through the log", through_the_log=True)
    finally:
        database.close()
    return [
        Figure("clock read past the log, second life", "Diverged", past),
        Figure("ways that its error names", 2, sum(f"activity {way} " in said for way in ("even", "odd"))),
        Figure("events that it lost or added", 0, changed),
        Figure("clock read through now(), second life", "even", through),
    ]


def _two_lives(database: Database, thread_id: str, *, through_the_log: bool) -> tuple[str, str, int]:
    """A workflow whose first worker dies in its last activity: how the second one ended, the text of its
    error, and by how many events it changed the log."""
    ticks, lives = count(), count()

    def tick() -> float:
        return float(next(ticks))

    @activity
    def last() -> None:
        if next(lives) == 0:
            raise Died

    def workflow() -> str:
        read: Callable[[], float] = now if through_the_log else tick
        way = odd if read() % 2 else even
        way()
        last()
        return way.name

    worker = Worker(database)
    log = EventLog(worker, thread_id, clock=tick)
    try:
        with contextlib.suppress(Died):
            run_or_replay(workflow, log)
        before = len(Events(database).read(thread_id))
        try:
            end, said = str(run_or_replay(workflow, log)), ""
        except Diverged as error:
            end, said = type(error).__name__, str(error)
        return end, said, len(Events(database).read(thread_id)) - before
    finally:
        worker.close()
