"""Modes of the controls: what people write before they have lost something."""

from typing import Any

from streamlanes.chaos.saying import say
from streamlanes.durable.points import Point, reach
from streamlanes.durable.posting import Caller


def in_a_list(task: dict[str, Any]) -> None:
    """The queue is a list in memory. A worker that starts after a crash has none."""
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
    """No checkpoint and no key; after a crash all is done again from the start."""
    say("up")
    caller = Caller()
    for number in range(task["steps"]):
        say("step", thread_id="naive", step=number)
        reach(Point.BEFORE_EFFECT)
        caller.post(f"{task['url']}/naive", {"ref": f"naive/{number}"})
        reach(Point.AFTER_EFFECT)
        reach(Point.AFTER_CHECKPOINT)
    say("done", thread_id="naive")


def asking_in_memory(task: dict[str, Any]) -> None:
    """A person is asked and their answer kept in memory; after a crash they are asked again."""
    say("up")
    caller = Caller()
    for number in range(task["steps"]):
        say("step", thread_id="asks", step=number)
        caller.post(f"{task['url']}/naive", {"ref": f"ask asks/{number}"})
        reach(Point.AFTER_DECISION)
        caller.post(f"{task['url']}/naive", {"ref": f"asks/{number}"})
    say("done", thread_id="asks")
