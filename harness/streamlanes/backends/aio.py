"""One event loop, a task per call. asyncio and uvloop differ by the loop's factory and nothing else."""

import asyncio
import sys
from collections.abc import Callable

from streamlanes.backends.base import GRAIN_S, Jobs, Options, now_ns

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


async def spawn(jobs: Jobs) -> None:
    """Start a task for each call at its intended start; return when all have ended."""
    async with asyncio.TaskGroup() as group:
        for call in jobs.calls:
            while (left_s := (jobs.start_ns(call) - now_ns()) / 1e9) > 0:
                await asyncio.sleep(max(left_s, GRAIN_S))
            group.create_task(jobs.run(call))


class EventLoop:
    """An event loop of its own in this thread."""

    def __init__(self, jobs: Jobs, options: Options, factory: LoopFactory) -> None:
        self._jobs = jobs
        self._runner = asyncio.Runner(loop_factory=factory)

    def open(self) -> None:
        """Make the loop and turn it once."""
        self._runner.run(self._jobs.open())

    def run(self) -> None:
        """Run every job."""
        self._runner.run(spawn(self._jobs))

    def facts(self) -> dict[str, object]:
        """The loop's class, and the version of a library that brings it: the cell's, not the parent's."""
        kind = type(self._runner.get_loop())
        library = sys.modules[kind.__module__.partition(".")[0]]
        found = {"loop": f"{kind.__module__}.{kind.__qualname__}"}
        return found | ({"loop_version": library.__version__} if hasattr(library, "__version__") else {})

    def close(self) -> None:
        """Close what the jobs shared, then the loop."""
        self._runner.run(self._jobs.close())
        self._runner.close()


def asyncio_loop(jobs: Jobs, options: Options) -> EventLoop:
    """The standard library's loop, whichever it takes by default on this system."""
    return EventLoop(jobs, options, asyncio.new_event_loop)


def uvloop_loop(jobs: Jobs, options: Options) -> EventLoop:
    """uvloop's loop."""
    import uvloop

    return EventLoop(jobs, options, uvloop.new_event_loop)
