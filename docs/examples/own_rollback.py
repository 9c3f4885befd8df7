"""An effect whose own check fails is taken back, and done anew: `python own_rollback.py`."""

import tempfile

from streamlanes.durable.backoff import Backoff
from streamlanes.durable.effects import Answer, Effect, Guard
from streamlanes.durable.opening import open_database
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint

WORLD: dict[str, str] = {}
"""What was published, by reference."""


def publish(reference: str, page: object) -> Answer:
    """Publish, then look whether it is right: the first time it is not."""
    WORLD[reference] = str(page) if reference.endswith("/2") else "404"
    print(f"published {WORLD[reference]!r} as {reference}")
    if WORLD[reference] != page:
        raise RuntimeError("it does not read as it should")
    return Answer(reference)


def withdraw(reference: str) -> None:
    """Take it back; one that is not there is no matter."""
    print(f"withdrew {WORLD.pop(reference, None)!r} of {reference}")


page = Effect("publish", publish, Guard.UNDO, undo=withdraw, backoff=Backoff(first_s=0.01))


async def agent(state: object, step: Step) -> object:
    return Last(await step.call(page, "hello"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(f"{folder}/agents.db")
        worker = Worker(database)
        print(run_with_checkpoint(agent, "page-1", worker), WORLD)
        worker.close()
        database.close()
