"""Two sessions on one log: one at a time has it, and one that lost it writes nothing."""

import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

from streamlanes.demo.figures import Figure, Stage
from streamlanes.durable.activities import activity
from streamlanes.durable.database import Database
from streamlanes.durable.errors import DurableError, LeaseHeld
from streamlanes.durable.events import Events, Kind
from streamlanes.durable.opening import open_database
from streamlanes.durable.replay import EventLog, run_or_replay
from streamlanes.durable.running import Worker

LEASE_S = 0.3
STUCK_S = 60.0
POLL_S = 0.02


def act(stage: Stage) -> Sequence[Figure]:
    """The first session stops for longer than its lease, in the middle of an activity. Meanwhile a second
    one is refused, then takes the log over and ends it; the first wakes up and finds that it lost it."""
    store = str(stage.folder / "store.db")
    databases = [open_database(store), open_database(store)]
    first, second = (Worker(each, name, LEASE_S) for each, name in zip(databases, "AB", strict=True))
    asleep, wake = threading.Event(), threading.Event()
    ran: list[str] = []

    @activity
    def work(name: str) -> str:
        ran.append(name)
        if ran.count("two") == 1 and name == "two":
            asleep.set()
            wake.wait(STUCK_S)
        return name

    def workflow() -> list[str]:
        return [work(name) for name in ("one", "two", "three")]

    ends: dict[str, str] = {}
    thread = threading.Thread(target=lambda: ends.update(first=_end(workflow, first)))
    thread.start()
    try:
        asleep.wait(STUCK_S)
        ends["early"] = _end(workflow, second)
        first.heart.close()  # it is stopped: nothing renews its lease
        while (end := _end(workflow, second)) == LeaseHeld.__name__:
            time.sleep(POLL_S)
        ends["late"] = end
    finally:
        wake.set()
        thread.join()
        first.close()
        second.close()
    figures = [
        Figure("second session, while the first has the log", "LeaseHeld", ends.get("early")),
        Figure("second session, when that lease has lapsed", "ended", ends.get("late")),
        Figure("first session, when it wakes", "LeaseLost", ends.get("first")),
        Figure("executions of three activities", 4, len(ran)),
        *_log(databases[1]),
    ]
    for each in databases:
        each.close()
    return figures


def _end(workflow: Callable[[], object], worker: Worker) -> str:
    """How a session ended, by the name of its error."""
    try:
        run_or_replay(workflow, EventLog(worker, "demo"))
    except DurableError as error:
        return type(error).__name__
    return "ended"


def _log(database: Database) -> list[Figure]:
    """What the log holds: each output once, and nothing of the first session after the second began."""
    events = Events(database).read("demo")
    outputs = [event for event in events if event.kind is Kind.COMPLETED]
    mixed = sum(later.epoch < event.epoch for event, later in pairwise(events))
    return [
        Figure("outputs in the log", 3, len(outputs)),
        Figure("events of the first after one of the second", 0, mixed),
    ]
