"""What agents of several modes do: steps that take their time, each with one payment."""

import json
import time
from typing import Any

from streamlanes.chaos.saying import say
from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.posting import Caller
from streamlanes.durable.running import Last, Step


class Paying:
    """The payment is an effect on the receiver that drops what it has under the same key."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._guarded: str = f"{task['url']}/guarded"
        self._steps: int = task["steps"]
        self._pace_s: float = task["pace_s"]
        self._caller = Caller()
        self.effect = Effect("pay", self.pay)

    def begin(self, step: Step, **more: object) -> None:
        """Say that a step is under way, and take its time."""
        say("step", thread_id=step.thread_id, step=step.number, **more)
        time.sleep(self._pace_s)

    def ended(self, step: Step, state: dict[str, Any]) -> object:
        """What the step gives back: its state, the execution's last one after all steps."""
        return Last(state) if step.number == self._steps - 1 else state

    def pay(self, key: str, payload: object) -> Answer:
        """Pay for what the payload names."""
        return Answer(json.loads(self.post(payload, key))["answer"])

    def post(self, ref: object, key: str) -> str:
        """Have the receiver note something under a key; its answer."""
        return self._caller.post(self._guarded, {"ref": ref}, key)


def total(state: object) -> int:
    """What the steps so far added up to."""
    return int(state["total"]) if isinstance(state, dict) else 0
