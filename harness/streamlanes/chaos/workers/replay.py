"""Mode `replay`: workflows of readings and activities, each carried out along its log."""

import json
import threading
import time
from typing import Any

from streamlanes.chaos.saying import say
from streamlanes.chaos.workers.carrying import POLL_S
from streamlanes.durable.activities import Activity, Workflow, attempt_key, uuid
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.errors import LeaseHeld, LeaseLost
from streamlanes.durable.opening import open_database
from streamlanes.durable.posting import Caller
from streamlanes.durable.replay import EventLog, run_or_replay
from streamlanes.durable.running import Worker


class Tasks:
    """What the workflow does."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._url: str = task["url"]
        self._pace_s: float = task["pace_s"]
        self._caller = Caller()
        pay = Activity("pay", self._pay, Backoff(attempts=3, first_s=0.01))
        self.workflow = Workflow("pays", lambda name, steps: pays(pay, name, steps))

    def _pay(self, name: str, step: int, stamp: str) -> object:
        say("step", thread_id=name, step=step)
        time.sleep(self._pace_s)
        body = {"ref": f"{name}/{step}", "stamp": stamp}
        return json.loads(self._caller.post(f"{self._url}/guarded", body, attempt_key()))["answer"]


def pays(pay: Any, name: str, steps: int) -> list[object]:
    """The workflow: an identity that is read, and an activity that has it, so many times."""
    say("claimed", thread_id=name)
    found: list[object] = []
    for step in range(steps):
        stamp = uuid()
        found.append([stamp, pay(name, step, stamp)])
    return found


def work(task: dict[str, Any]) -> None:
    """Carry every workflow to its end, whoever has it meanwhile."""
    database = open_database(task["store"], schema=task["schema"])
    worker = Worker(database, task["owner"], task["lease_s"])
    tasks = Tasks(task)
    say("up")
    threads = [
        threading.Thread(target=_execute, args=(worker, tasks, name, task["steps"])) for name in task["names"]
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    worker.close()
    database.close()


def _execute(worker: Worker, tasks: Tasks, name: str, steps: int) -> None:
    while True:
        try:
            run_or_replay(tasks.workflow, EventLog(worker, name), name, steps)
            say("done", thread_id=name)
            return
        except LeaseHeld:
            time.sleep(POLL_S)
        except LeaseLost:
            say("lost", thread_id=name)
        except Exception as error:  # its lease is let go, somebody tries again
            say("failed", thread_id=name, error=f"{type(error).__name__}: {error}")
            time.sleep(POLL_S)
