"""Mode `durable`: in each step one effect and one message, and a state that adds up."""

from typing import Any

from streamlanes.chaos.workers.carrying import carry_out
from streamlanes.chaos.workers.paying import Paying, total
from streamlanes.durable.running import Step


class Tasks(Paying):
    """What the agent does."""

    async def agent(self, state: object, step: Step) -> object:
        """One super-step."""
        self.begin(step)
        answer = await step.call(self.effect, f"{step.thread_id}/{step.number}")
        step.send("mail", f"mail {step.thread_id}/{step.number}")
        return self.ended(step, {"total": total(state) + step.number + 1, "answer": answer})

    def mail(self, key: str, payload: str) -> None:
        """Deliver a message of the outbox."""
        self.post(payload, key)


def work(task: dict[str, Any]) -> None:
    """Carry out whatever is open."""
    tasks = Tasks(task)
    carry_out(task, tasks.agent, {"mail": tasks.mail})
