"""No store: steps go on at once, and a crash takes all of them. What durability is held against."""

from collections.abc import Mapping

from streamlanes.durable.architecture import Steps
from streamlanes.durable.waits import Waits


class Unkept:
    """Remembers each execution's latest state, as any program does, and how many steps it had."""

    durability = "none"

    def __init__(self) -> None:
        self._states: dict[int, tuple[int, object]] = {}
        self._steps: Steps
        self._waits: Waits

    def open(self) -> None:
        """There is nothing to have ready."""

    async def start(self, steps: Steps, waits: Waits) -> None:
        """Nobody works beside the executions."""
        self._steps, self._waits = steps, waits

    async def run(self, execution: int) -> None:
        """Step after step."""
        steps, number, last = self._steps, 0, False
        while not last:
            made = await steps.work(execution, number)
            self._states[execution] = (number + 1, made.state)
            await self._waits.sleep(0)  # one that never waits would keep the others from their turn
            steps.kept(execution, number)
            number, last = number + 1, made.last

    def left(self) -> Mapping[int, int]:
        """Steps by execution, as remembered."""
        return {execution: count for execution, (count, _) in self._states.items()}

    def facts(self) -> Mapping[str, int | float]:
        """Nothing is counted."""
        return {}

    async def stop(self) -> None:
        """Nobody was started."""

    def close(self) -> None:
        """There is nothing to let go."""
