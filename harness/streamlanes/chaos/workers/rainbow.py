"""Mode `rainbow`: agents of one runtime version, which add up in a way of their own.

`version` is that of the code. `claims` is the version whose executions are claimed: another one than
the code's is how a deployment in place behaves, and must be found out.
"""

from typing import Any

from streamlanes.chaos.workers.carrying import carry_out
from streamlanes.chaos.workers.paying import Paying, total
from streamlanes.durable.running import Step


def added(version: int, step: int) -> int:
    """What a step adds to the total, by the code of a version."""
    return version * (step + 1)


class Tasks(Paying):
    """What the agent does."""

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self._version: int = task["version"]

    async def agent(self, state: object, step: Step) -> object:
        """One super-step."""
        self.begin(step, version=self._version)
        await step.call(self.effect, f"{step.thread_id}/{step.number}")
        new = {"total": total(state) + added(self._version, step.number), "version": self._version}
        return self.ended(step, new)


def work(task: dict[str, Any]) -> None:
    """Carry out whatever is open of a version."""
    carry_out(task, Tasks(task).agent, {}, version=task["claims"])
