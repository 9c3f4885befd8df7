"""Mode `approval`: in each step an effect that a person must approve, and the person beside it.

The person looks at what is pending and decides: step REJECTED of every execution is refused, all else
approved. Steps with an odd number have the policy that an approval is for one life only.
"""

import json
import time
from typing import Any

from streamlanes.chaos.saying import say
from streamlanes.chaos.workers.carrying import POLL_S, carry_out
from streamlanes.chaos.workers.paying import Paying, total
from streamlanes.durable.database import Database
from streamlanes.durable.effects import Answer
from streamlanes.durable.errors import AlreadyDecided
from streamlanes.durable.running import Step, Worker

REJECTED = 2


def wants_a_new_approval(step: int) -> bool:
    """Whether the policy of a step is reapprove_on_resume."""
    return step % 2 == 1


class Tasks(Paying):
    """What the agent does, and the person."""

    async def agent(self, state: object, step: Step) -> object:
        """One super-step: propose, then commit."""
        self.begin(step)
        said = await step.propose(
            self.effect,
            {"pay": f"{step.thread_id}/{step.number}"},
            reapprove_on_resume=wants_a_new_approval(step.number),
            tell="person",
        )
        return self.ended(step, {"total": total(state) + step.number + 1, "approved": said.approved})

    def pay(self, key: str, payload: object) -> Answer:
        """Pay for what was proposed."""
        assert isinstance(payload, dict)
        return super().pay(key, payload["pay"])

    def tell(self, key: str, payload: str) -> None:
        """Tell the person that something is asked."""
        self.post(f"ask {json.loads(payload)['pay']}", key)

    def person(self, database: Database, worker: Worker) -> None:
        """Decide what is pending, until nothing can be asked any more."""
        while worker.leases.left():
            for each in worker.people.pending():
                step = int(each.place.split("/")[-2])
                try:
                    worker.people.decide(each.id, step != REJECTED, "chaos").result()
                    say("decided", request=each.id)
                except AlreadyDecided:  # another life's person was faster
                    say("decided-before", request=each.id)
            time.sleep(POLL_S)


def work(task: dict[str, Any]) -> None:
    """Carry out whatever is open or waits for the person."""
    tasks = Tasks(task)
    carry_out(task, tasks.agent, {"person": tasks.tell}, [tasks.person])
