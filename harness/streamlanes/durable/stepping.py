"""The architecture of `run_with_checkpoint`: an execution is one coroutine, each step a checkpoint."""

from collections.abc import Mapping
from dataclasses import asdict

from streamlanes.durable.architecture import Grounds, Steps
from streamlanes.durable.running import Last, Step, Worker, carry_on
from streamlanes.durable.waits import Waits

_LEFT = "SELECT thread_id, count(*) FROM checkpoints GROUP BY thread_id"


class Stepping:
    """One worker process that carries all executions on."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds
        self._steps: Steps
        self._waits: Waits

    def open(self) -> None:
        """Open the database and start the heartbeat."""
        self._database = self._grounds.open_database()
        self.durability = self._database.durability
        self._worker = Worker(self._database, "lane")

    async def start(self, steps: Steps, waits: Waits) -> None:
        """Nobody works beside the executions."""
        self._steps, self._waits = steps, waits

    async def run(self, execution: int) -> None:
        """Claim the execution and carry it to its end."""
        worker, steps, waits = self._worker, self._steps, self._waits
        number = 0

        async def agent(state: object, step: Step) -> object:
            nonlocal number
            if step.number:  # that it is called again says that the step before is kept
                steps.kept(execution, number)
            number = step.number
            made = await steps.work(execution, number)
            return Last(made.state) if made.last else made.state

        claimed = await waits.result(worker.leases.claim(f"e{execution}", worker.owner, worker.lease_s))
        assert claimed is not None, "the store is fresh, so nobody else can have it"
        await carry_on(agent, claimed, worker, waits)
        steps.kept(execution, number)

    def left(self) -> Mapping[int, int]:
        """Checkpoints by execution."""
        return {int(name[1:]): int(count) for name, count in self._database.read(_LEFT, {})}

    def facts(self) -> Mapping[str, int | float]:
        """The database's counts."""
        return asdict(self._database.counts)

    async def stop(self) -> None:
        """Nobody was started."""

    def close(self) -> None:
        """Stop the heartbeat, close the database."""
        self._worker.close()
        self._database.close()
