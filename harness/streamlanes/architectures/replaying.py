"""A replay engine: an execution is a workflow, a step an activity, both ends of it in the event log."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from streamlanes.durable.activities import activity
from streamlanes.durable.architecture import Grounds, StepFailed, Steps
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.errors import ActivityFailed
from streamlanes.durable.replay import EventLog, run_or_replay_async
from streamlanes.durable.running import Worker
from streamlanes.durable.waits import Waits

_LEFT = "SELECT thread_id, count(*) FROM events WHERE kind = 'completed' GROUP BY thread_id"


class Replaying:
    """One worker process that carries all workflows on."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds

    def open(self) -> None:
        """Open the database and start the heartbeat."""
        self._database = self._grounds.open_database()
        self.durability = self._database.durability
        self._worker = Worker(self._database, "lane")

    async def start(self, steps: Steps, waits: Waits) -> None:
        """Make the workflow; nobody works beside the executions."""

        @activity(backoff=Backoff(attempts=1))  # who tries again is the lane's affair, as everywhere
        async def step(execution: int, number: int) -> dict[str, Any]:
            made = await steps.work(execution, number)
            return {"state": made.state, "last": made.last}

        async def execution(number: int) -> int:
            done, last = 0, False
            while not last:
                made = await step(number, done)
                steps.kept(number, done)
                done, last = done + 1, bool(made["last"])
            return done

        self._workflow = execution

    async def run(self, execution: int) -> None:
        """Carry the workflow to its end."""
        log = EventLog(self._worker, f"e{execution}")
        try:
            await run_or_replay_async(self._workflow, log, execution)
        except ActivityFailed as error:
            raise StepFailed(str(error)) from error

    def left(self) -> Mapping[int, int]:
        """Completed activities, by execution."""
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
