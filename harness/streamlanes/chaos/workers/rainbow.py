"""Mode `rainbow`: agents of one runtime version, which add up in a way of their own.

`version` is that of the code. `claims` is the version whose executions are claimed: another one than
the code's is how a deployment in place behaves, and must be found out.
"""

import json
import time
from typing import Any

from streamlanes.chaos.saying import say
from streamlanes.chaos.workers.carrying import carry_out
from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.posting import Caller
from streamlanes.durable.running import Last, Step


def added(version: int, step: int) -> int:
    """What a step adds to the total, by the code of a version."""
    return version * (step + 1)


class Tasks:
    """What the agent does."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._url: str = task["url"]
        self._steps: int = task["steps"]
        self._pace_s: float = task["pace_s"]
        self._version: int = task["version"]
        self._caller = Caller()
        self._effect = Effect("pay", self._pay)

    async def agent(self, state: object, step: Step) -> object:
        """One super-step."""
        say("step", thread_id=step.thread_id, step=step.number, version=self._version)
        time.sleep(self._pace_s)
        total = state["total"] if isinstance(state, dict) else 0
        await step.call(self._effect, f"{step.thread_id}/{step.number}")
        new = {"total": total + added(self._version, step.number), "version": self._version}
        return Last(new) if step.number == self._steps - 1 else new

    def _pay(self, key: str, payload: object) -> Answer:
        text = self._caller.post(f"{self._url}/guarded", {"ref": payload}, key)
        return Answer(json.loads(text)["answer"])


def work(task: dict[str, Any]) -> None:
    """Carry out whatever is open of a version."""
    carry_out(task, Tasks(task).agent, {}, version=task["claims"])
