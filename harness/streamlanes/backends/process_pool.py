"""concurrent.futures.ProcessPoolExecutor: one call at a time in each worker process."""

import multiprocessing
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Barrier
from multiprocessing.util import Finalize

from streamlanes.backends.base import Jobs, Options, Refused, drive
from streamlanes.backends.threads import wait_for_start

_jobs: Jobs
_together: Barrier


def _enter(jobs: Jobs, together: Barrier, options: Options) -> None:
    """A worker's start: the jobs come once, not with every call."""
    global _jobs, _together
    _jobs, _together = jobs, together
    options.configure()
    jobs.touch()
    drive(jobs.open())
    Finalize(None, _leave, exitpriority=0)  # a worker is not told when its last call was
    options.settle()


def _leave() -> None:
    drive(_jobs.close())


def _meet() -> None:
    _together.wait()


def _one(call: int) -> None:
    drive(_jobs.run(call))


class ProcessPool:
    """A pool of `width` processes, all up before the first call."""

    def __init__(self, jobs: Jobs, options: Options) -> None:
        self._jobs = jobs
        self._width = options.width
        self._context = multiprocessing.get_context(options.start_method)
        self._together = self._context.Barrier(self._width)
        self._executor = ProcessPoolExecutor(
            max_workers=self._width,
            mp_context=self._context,
            initializer=_enter,
            initargs=(jobs, self._together, options),
        )

    def open(self) -> None:
        """Have every worker started, its tables open, idle."""
        try:
            waiting = [self._executor.submit(_meet) for _ in range(self._width)]
            for meeting in waiting:
                meeting.result()
        except (OSError, BrokenProcessPool) as error:
            raise Refused(0, str(error)) from None

    def run(self) -> None:
        """Submit each call at its intended start."""
        futures: list[Future[None]] = []
        for call in self._jobs.calls:
            wait_for_start(self._jobs, call)
            futures.append(self._executor.submit(_one, call))
        for future in futures:
            future.result()

    def facts(self) -> dict[str, object]:
        """The width and the start method that ran; nobody watched the workers' garbage collector."""
        return {"width": self._width, "start_method": self._context.get_start_method(), "gc": {}}

    def close(self) -> None:
        """End the workers."""
        self._executor.shutdown()


def pool(jobs: Jobs, options: Options) -> ProcessPool:
    """A pool of options.width processes."""
    return ProcessPool(jobs, options)
