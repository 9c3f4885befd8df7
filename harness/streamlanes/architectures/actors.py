"""Actors: an execution is a group of two agents that write to each other, a step is a wake-up.

The one that is woken does the step, remembers its state, and writes to the other, which does the next.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from streamlanes.architectures.endings import Endings
from streamlanes.durable.agents.queue import AgentQueue
from streamlanes.durable.agents.values import Letter, Reply, Wake
from streamlanes.durable.agents.work import AgentWorker
from streamlanes.durable.architecture import Grounds, Steps
from streamlanes.durable.waits import Waits

_LEFT = """SELECT team, sum(wake - CASE stage WHEN 'processing' THEN 1 ELSE 0 END)
FROM agents GROUP BY team"""


class Actors:
    """One worker that wakes the agents of all executions."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds
        self._did: dict[str, tuple[int, int, bool]] = {}

    def open(self) -> None:
        """Open the database and enroll the agents; none is awake."""
        self._database = self._grounds.open_database()
        self.durability = self._database.durability
        self._queue = AgentQueue(self._database)
        self._queue.enroll(
            {f"{number}": _pair(number) for number in range(self._grounds.executions)}
        ).result()

    async def start(self, steps: Steps, waits: Waits) -> None:
        """Start the worker."""
        self._steps, self._waits = steps, waits
        self._endings = Endings()
        self._worker = AgentWorker(
            self._queue, self._handle, places=self._grounds.executions, dispatched=self._dispatched
        )
        self._working = asyncio.create_task(self._worker.run(until_quiet=False))
        self._endings.watch(self._working)

    async def run(self, execution: int) -> None:
        """Write to the first of the two, and wait until one has done the last step."""
        ended = self._endings.expect(execution)
        first, _ = _pair(execution)
        await self._waits.result(self._queue.post(first, "0", f"{execution}"))
        self._worker.look()
        await ended

    def left(self) -> Mapping[int, int]:
        """Wake-ups whose reply is kept, by execution."""
        return {int(team): int(count) for team, count in self._database.read(_LEFT, {})}

    def facts(self) -> Mapping[str, int | float]:
        """The database's counts, and the worker's."""
        worked = self._worker.worked
        return {
            **asdict(self._database.counts),
            "wakes": worked.wakes,
            "wakes_lost": worked.lost,
            "replies_refused": worked.refused,
            "parked": worked.parked,
        }

    async def stop(self) -> None:
        """End the worker; who was awake is woken again when the lease lapses."""
        self._working.cancel()
        await asyncio.gather(self._working, return_exceptions=True)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    async def _handle(self, wake: Wake, faults: Sequence[str]) -> Reply:
        """The agent: the step that its one message names."""
        execution, step = int(wake.agent.partition(".")[0]), int(wake.batch[0].text)
        try:
            made = await self._steps.work(execution, step)
        except Exception as error:
            self._endings.over(execution, error)
            raise
        self._did[wake.agent] = (execution, step, made.last)
        (other,) = (name for name in _pair(execution) if name != wake.agent)
        return Reply(() if made.last else [Letter(other, f"{step + 1}")], made.state)

    def _dispatched(self, wake: Wake) -> None:
        execution, step, last = self._did.pop(wake.agent)
        self._steps.kept(execution, step)
        if last:
            self._endings.over(execution)


def _pair(execution: int) -> tuple[str, str]:
    return f"{execution}.a", f"{execution}.b"
