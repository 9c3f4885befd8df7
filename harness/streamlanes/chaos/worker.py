"""A worker under chaos: `python -m streamlanes.chaos.worker`, its task a JSON line on standard input.

It carries executions out like any worker, says in JSON lines what it does, and when it has passed the
named point often enough it kills or stops itself there: a real signal at an exact place. Its modes
`list` and `naive` are the controls: what people write before they have lost something.
"""

import json
import os
import signal
import sys
import threading
import time
from typing import Any

from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.errors import DurableError, LeaseLost
from streamlanes.durable.opening import open_database
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.points import Point, reach, watch
from streamlanes.durable.posting import Caller
from streamlanes.durable.running import Last, Step, Worker, carry_on
from streamlanes.durable.waits import Blocking, drive

POLL_S = 0.02


def say(event: str, **more: object) -> None:
    """One line for the parent, whole even when threads speak at once."""
    line = json.dumps({"event": event, "at_ns": time.monotonic_ns(), **more})
    os.write(1, line.encode() + b"\n")


class Strike:
    """Kills or stops this process at the `hit`-th passage of a point."""

    def __init__(self, point: str, hit: int, how: str) -> None:
        self._point = Point(point)
        self._left = hit
        self._signal = signal.Signals[how]
        self._lock = threading.Lock()

    def __call__(self, point: Point) -> None:
        if point is not self._point:
            if point is Point.AFTER_CHECKPOINT:
                say("kept")
            return
        with self._lock:
            self._left -= 1
            if self._left == 0:
                say("strike")
                os.kill(os.getpid(), self._signal)
        if point is Point.AFTER_CHECKPOINT:
            say("kept")


class Tasks:
    """What the agent does in each step: one effect and one message, and a state that adds up."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._url: str = task["url"]
        self._steps: int = task["steps"]
        self._pace_s: float = task["pace_s"]
        self._caller = Caller()
        self._effect = Effect("pay", self._pay)

    async def agent(self, state: object, step: Step) -> object:
        """One super-step."""
        say("step", thread_id=step.thread_id, step=step.number)
        time.sleep(self._pace_s)
        total = state["total"] if isinstance(state, dict) else 0
        answer = await step.call(self._effect, f"{step.thread_id}/{step.number}")
        step.send("mail", f"mail {step.thread_id}/{step.number}")
        new = {"total": total + step.number + 1, "answer": answer}
        return Last(new) if step.number == self._steps - 1 else new

    def mail(self, key: str, payload: str) -> None:
        """Deliver a message of the outbox."""
        self._caller.post(f"{self._url}/guarded", {"ref": payload}, key)

    def _pay(self, key: str, payload: object) -> Answer:
        text = self._caller.post(f"{self._url}/guarded", {"ref": payload}, key)
        return Answer(json.loads(text)["answer"])


def durable(task: dict[str, Any]) -> None:
    """Carry out whatever is open, until nothing is and all messages are sent."""
    database = open_database(task["store"], schema=task["schema"])
    worker = Worker(database, task["owner"], task["lease_s"])
    tasks = Tasks(task)
    say("up")
    threads = [threading.Thread(target=_execute, args=(worker, tasks)) for _ in range(task["threads"])]
    threads.append(threading.Thread(target=_dispatch, args=(database, worker, tasks)))
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    worker.close()
    database.close()


def _execute(worker: Worker, tasks: Tasks) -> None:
    while worker.leases.open():
        claimed = worker.leases.claim_any(worker.owner, worker.lease_s).result()
        if claimed is None:
            time.sleep(POLL_S)
            continue
        say("claimed", thread_id=claimed.lease.thread_id, epoch=claimed.lease.epoch)
        try:
            drive(carry_on(tasks.agent, claimed, worker, Blocking()))
            say("done", thread_id=claimed.lease.thread_id)
        except LeaseLost:
            say("lost", thread_id=claimed.lease.thread_id)
        except Exception as error:  # its lease is let go, somebody tries again
            say("failed", thread_id=claimed.lease.thread_id, error=f"{type(error).__name__}: {error}")


def _dispatch(database: Any, worker: Worker, tasks: Tasks) -> None:
    dispatcher = Dispatcher(database, worker.leases, {"mail": tasks.mail})
    while worker.leases.open() or dispatcher.counts().get("waiting"):
        lock = dispatcher.lock(worker.owner, worker.lease_s)
        if lock is None:
            time.sleep(POLL_S)
            continue
        worker.heart.hold(lock)
        try:
            while worker.leases.open() or dispatcher.counts().get("waiting"):
                if not dispatcher.send_due(lock):
                    time.sleep(POLL_S)
        except LeaseLost:
            continue
        except DurableError as error:
            say("failed", thread_id=lock.thread_id, error=str(error))
        finally:
            worker.heart.drop(lock)
        worker.leases.release(lock).result()


def in_a_list(task: dict[str, Any]) -> None:
    """Control: the queue is a list in memory. A worker that starts after a crash has none."""
    say("up")
    caller = Caller()
    queue = list(range(task["steps"])) if task["first"] else []
    while queue:
        number = queue.pop(0)
        say("step", thread_id="list", step=number)
        reach(Point.BEFORE_EFFECT)
        caller.post(f"{task['url']}/naive", {"ref": f"list/{number}"})
        reach(Point.AFTER_EFFECT)


def naively(task: dict[str, Any]) -> None:
    """Control: no checkpoint and no key; after a crash all is done again from the start."""
    say("up")
    caller = Caller()
    for number in range(task["steps"]):
        say("step", thread_id="naive", step=number)
        reach(Point.BEFORE_EFFECT)
        caller.post(f"{task['url']}/naive", {"ref": f"naive/{number}"})
        reach(Point.AFTER_EFFECT)
        reach(Point.AFTER_CHECKPOINT)
    say("done", thread_id="naive")


MODES = {"durable": durable, "list": in_a_list, "naive": naively}


def main() -> None:
    """Read the task, do it, say so. The process ends with its parent: nothing answers for it then."""
    task = json.loads(sys.stdin.readline())
    if (strike := task.get("strike")) is not None:
        watch(Strike(**strike))
    else:
        watch(lambda point: say("kept") if point is Point.AFTER_CHECKPOINT else None)
    MODES[task["mode"]](task)
    say("over")


if __name__ == "__main__":
    main()
