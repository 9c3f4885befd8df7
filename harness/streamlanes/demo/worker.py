"""The process that the act `replay` kills: `python -m streamlanes.demo.worker`, its task a JSON line on
standard input. Each activity is a request to a receiver, whose ledger counts and which nobody kills."""

import json
import sys
import time

from streamlanes.chaos.saying import Strike, say
from streamlanes.durable.activities import activity
from streamlanes.durable.errors import LeaseHeld
from streamlanes.durable.opening import open_database
from streamlanes.durable.points import Point, reach, watch
from streamlanes.durable.posting import Caller
from streamlanes.durable.replay import EventLog, run_or_replay
from streamlanes.durable.running import Worker

LEASE_S = 0.4
POLL_S = 0.02

caller = Caller()


@activity
def post(url: str, ref: str) -> str:
    """One request."""
    return caller.post(url, {"ref": ref})


def workflow(url: str, count: int) -> int:
    """So many activities, one after the other."""
    for number in range(1, count + 1):
        post(url, f"replay/{number}")
    return count


def with_replay(store: str, url: str, count: int) -> None:
    """Carry the workflow out; wait for the lease of a worker that was killed."""
    database = open_database(store)
    worker = Worker(database, lease_s=LEASE_S)
    while True:
        try:
            run_or_replay(workflow, EventLog(worker, "demo"), url, count)
            break
        except LeaseHeld:
            time.sleep(POLL_S)
    worker.close()
    database.close()


def naively(store: str, url: str, count: int) -> None:
    """Retry from the start: what was done is known to nobody."""
    for number in range(1, count + 1):
        caller.post(url, {"ref": f"naive/{number}"})
        reach(Point.AFTER_EFFECT)


MODES = {"replay": with_replay, "naive": naively}


def main() -> None:
    """Read the task, do it, say so."""
    task = json.loads(sys.stdin.readline())
    if task["crash_at"]:
        watch(Strike(Point.AFTER_EFFECT, task["crash_at"], "SIGKILL"))
    MODES[task["mode"]](task["store"], task["url"], task["count"])
    say("over")


if __name__ == "__main__":
    main()
