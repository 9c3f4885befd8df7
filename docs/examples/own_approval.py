"""An agent that asks before it pays. Start it as often as you like: `python own_approval.py order-17`."""

import sys

from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.errors import Parked
from streamlanes.durable.opening import open_database
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint


def answer(key: str, prompt: object) -> Answer:
    """What a model would say, and what that cost."""
    return Answer({"pay": 120}, prompt_tokens=900, output_tokens=40, price_usd=0.01)


think = Effect("think", answer)
pay = Effect("pay", lambda key, proposal: Answer(f"paid {proposal['pay']} under {key}"))


async def agent(state: object, step: Step) -> object:
    if state is None:
        return await step.call(think, "what does the order cost?")
    said = await step.propose(pay, state)
    return Last({"approved": said.approved, "answer": said.answer})


if __name__ == "__main__":
    database = open_database("agents.db")
    worker = Worker(database)
    try:
        print(run_with_checkpoint(agent, sys.argv[1], worker))
    except Parked as why:
        print(why)
    finally:
        worker.close()
        database.close()
