"""Naive retry against replay: how often activities run when their worker is killed in one of them."""

import sys
from collections.abc import Sequence

from streamlanes.chaos.place import Process, until
from streamlanes.children import Child
from streamlanes.demo.figures import Figure, Stage
from streamlanes.durable.receiver import Receiver

ACTIVITIES = 10


def act(stage: Stage) -> Sequence[Figure]:
    """Two lives each. The first is killed once activity number `crash_at` has happened and before its
    output is logged: so replay runs that one again, and naive retry all of them."""
    count = max(ACTIVITIES, stage.crash_at)
    figures = []
    for mode, again in (("naive", stage.crash_at), ("replay", 1)):
        receiver = Receiver()
        try:
            ends = [_life(stage, mode, receiver.url, count, crash_at) for crash_at in (stage.crash_at, 0)]
            ran = receiver.ledger("naive")
        finally:
            receiver.close()
        figures += [
            Figure(f"{mode}: last words of both workers", "strike, over", ", ".join(ends)),
            Figure(f"{mode}: activities that ran at all", count, len(ran)),
            Figure(f"{mode}: executions of activities", count + again, ran.total()),
        ]
    return figures


def _life(stage: Stage, mode: str, url: str, count: int, crash_at: int) -> str:
    """A worker's process from start to end: its last word."""
    worker = Process(Child(stage.launcher, [sys.executable, "-P", "-m", "streamlanes.demo.worker"], None))
    try:
        store = str(stage.folder / f"{mode}.db")
        worker.child.say(
            {"mode": mode, "store": store, "url": f"{url}/naive", "count": count, "crash_at": crash_at}
        )
        until(worker.over, [worker])
        return str(worker.said[-1]["event"]) if worker.said else "none"
    finally:
        worker.child.end(grace_s=1.0)
