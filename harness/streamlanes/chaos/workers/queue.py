"""Modes `queue` and `mailboxes`: agents that write to each other, kept in a database and in memory.

Every wake-up has one effect. A lock that lapses like a lease stands for the worker itself, so that the
parent sees when it is gone.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from streamlanes.chaos.saying import say
from streamlanes.durable.agents.queue import AgentQueue
from streamlanes.durable.agents.talk import TASK, Talk
from streamlanes.durable.agents.values import Family, Mail, Stage, Wake
from streamlanes.durable.agents.work import AgentWorker
from streamlanes.durable.heart import Heart
from streamlanes.durable.leases import Leases
from streamlanes.durable.opening import open_database
from streamlanes.durable.points import Point, reach
from streamlanes.durable.posting import Caller
from streamlanes.durable.values import Lease

GROUPS = (4, 3, 2)
"""Sizes of the groups."""
PLACES = 3
POLL_S = 0.02


class Thinker:
    """What an agent does in a wake-up: one effect, under the wake-up's key or under none."""

    def __init__(self, task: Mapping[str, Any], endpoint: str, prefix: str) -> None:
        self._url = f"{task['url']}/{endpoint}"
        self._guarded = endpoint == "guarded"
        self._prefix = prefix
        self._pace_s: float = task["pace_s"]
        self._caller = Caller()

    async def __call__(self, wake: Wake) -> str:
        say("claimed", thread_id=wake.agent, epoch=wake.number)
        say("step", thread_id=wake.agent, step=wake.number)
        await asyncio.sleep(self._pace_s)
        ref = {"ref": f"{self._prefix}{wake.agent}/{wake.number}"}
        reach(Point.BEFORE_EFFECT)
        await asyncio.to_thread(self._caller.post, self._url, ref, wake.key(0) if self._guarded else None)
        reach(Point.AFTER_EFFECT)
        return "thought"


def work(task: dict[str, Any]) -> None:
    """Wake agents until all is quiet."""
    database = open_database(task["store"], schema=task["schema"])
    queue, leases = AgentQueue(database), Leases(database)
    heart = Heart(leases, task["lease_s"])
    say("up")
    while (lock := leases.lock("agents", task["owner"], task["lease_s"]).result()) is None:
        time.sleep(POLL_S)
    heart.hold(lock.lease)
    worker = AgentWorker(
        queue,
        Talk(GROUPS, Thinker(task, "guarded", "")),
        owner=task["owner"],
        places=PLACES,
        lease_s=task["lease_s"],
        poll_s=POLL_S,
        dispatched=lambda wake: say("kept"),
    )
    asyncio.run(worker.run())
    say("done", thread_id="agents")
    for _ in range(worker.worked.lost):
        say("lost", thread_id="agents")
    for name, fault in queue.parked().items():
        say("failed", thread_id=name, error=fault)
    heart.drop(lock.lease)
    leases.release(lock.lease).result()
    heart.close()
    database.close()


def in_memory(task: dict[str, Any]) -> None:
    """Mailboxes are lists. A worker that starts after a crash has empty ones."""
    say("up")
    talk = Talk(GROUPS, Thinker(task, "naive", "mailboxes/"))
    boxes: dict[str, list[Mail]] = {name: [] for names in talk.groups().values() for name in names}
    memories: dict[str, object] = dict.fromkeys(boxes)
    wakes = dict.fromkeys(boxes, 0)
    if task["first"]:
        boxes[talk.first].append(Mail("", Family.OUTSIDE, TASK))
    while name := next((one for one, mail in boxes.items() if mail), None):
        wakes[name] += 1
        batch, boxes[name] = boxes[name], []
        lease = Lease(name, "worker", "", wakes[name], 0.0)
        wake = Wake(name, wakes[name], Stage.PROCESSING, batch, memories[name], lease)
        reply = asyncio.run(talk(wake, ()))
        memories[name] = reply.memory
        for letter in reply.letters:
            boxes[letter.to].append(Mail(name, Family.CHAT, letter.text))
