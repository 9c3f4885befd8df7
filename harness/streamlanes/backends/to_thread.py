"""asyncio in front of a thread pool: the way of asyncio.to_thread, with the pool's width made explicit."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from streamlanes.backends.aio import spawn
from streamlanes.backends.base import Jobs, Options, drive
from streamlanes.backends.threads import fill


class ToThread:
    """A task per call that hands its blocking work to the loop's default executor."""

    def __init__(self, jobs: Jobs, width: int) -> None:
        self._width = width
        self._blocking = jobs
        self._jobs = Jobs(self._one, jobs.tables, jobs.calls)
        self._executor = ThreadPoolExecutor(max_workers=width)
        self._runner = asyncio.Runner()

    def open(self) -> None:
        """Make the loop, give it the executor, start the executor's threads."""
        self._runner.get_loop().set_default_executor(self._executor)
        self._runner.run(asyncio.sleep(0))
        drive(self._blocking.open())
        fill(self._executor, self._width)

    async def _one(self, call: int) -> None:
        await asyncio.to_thread(drive, self._blocking.run(call))

    def run(self) -> None:
        """Run every job."""
        self._runner.run(spawn(self._jobs))

    def facts(self) -> dict[str, object]:
        """The loop's class and the width that ran."""
        kind = type(self._runner.get_loop())
        return {"loop": f"{kind.__module__}.{kind.__qualname__}", "width": self._width}

    def close(self) -> None:
        """End the workers, close the loop."""
        self._runner.close()
        drive(self._blocking.close())


def to_thread(jobs: Jobs, options: Options) -> ToThread:
    """asyncio.to_thread over a default executor of options.width threads."""
    return ToThread(jobs, options.width)
