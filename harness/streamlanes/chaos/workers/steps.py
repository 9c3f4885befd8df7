"""Mode `durable`: in each step one effect and one message, and a state that adds up."""

import json
import time
from typing import Any

from streamlanes.chaos.saying import say
from streamlanes.chaos.workers.carrying import carry_out
from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.posting import Caller
from streamlanes.durable.running import Last, Step


class Tasks:
    """What the agent does."""

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


def work(task: dict[str, Any]) -> None:
    """Carry out whatever is open."""
    tasks = Tasks(task)
    carry_out(task, tasks.agent, {"mail": tasks.mail})
