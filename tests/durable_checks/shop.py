"""Agents that pay for something once a person agreed, and what they did."""

from durable_rows import LONG_S
from streamlanes.durable.database import Database
from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.running import Agent, Last, Step, Worker, run_with_checkpoint


class Shop:
    """Agents that pay for something once a person agreed, and what they did."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.paid: list[object] = []
        self.lives = 0

    def agent(self, *, proposal: object = "a book", policy: bool = False, dies_in: int = 0) -> Agent:
        """dies_in: the number of the life that dies with the decision in hand."""

        async def agent(state: object, step: Step) -> object:
            self.lives += 1
            said = await step.propose(
                Effect("pay", self._pay), proposal, reapprove_on_resume=policy, tell="person"
            )
            if self.lives == dies_in:
                raise RuntimeError("this worker ends here")
            return Last({"approved": said.approved, "note": said.note, "answer": said.answer})

        return agent

    def run(self, agent: Agent, name: str = "a") -> object:
        """One life, by a worker of its own."""
        worker = Worker(self.database, lease_s=LONG_S)
        try:
            return run_with_checkpoint(agent, name, worker)
        finally:
            worker.close()

    def _pay(self, key: str, payload: object) -> Answer:
        self.paid.append(payload)
        return Answer(f"receipt {len(self.paid)}", 10, 5, 0.25)
