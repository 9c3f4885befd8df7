"""Threads: one for each call, or a pool of a fixed width."""

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from streamlanes.backends.base import GRAIN_S, Jobs, Options, Refused, drive, now_ns


def wait_for_start(jobs: Jobs, call: int) -> None:
    """Block until the call's intended start."""
    while (left_s := (jobs.start_ns(call) - now_ns()) / 1e9) > 0:
        time.sleep(max(left_s, GRAIN_S))


class ThreadPerCall:
    """A new thread for each call, made at its intended start."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def open(self) -> None:
        """No thread stands ready: they are part of the calls."""
        drive(self._jobs.open())

    def run(self) -> None:
        """Run every job; Refused at the first thread that the system would not start, once those
        that had started are over."""
        started: list[threading.Thread] = []
        refusal: RuntimeError | None = None
        for call in self._jobs.calls:
            wait_for_start(self._jobs, call)
            thread = threading.Thread(target=self._one, args=(call,))
            try:
                thread.start()
            except RuntimeError as error:
                refusal = error
                break
            started.append(thread)
        for thread in started:
            thread.join()
        if refusal is not None:
            raise Refused(len(started), str(refusal))

    def _one(self, call: int) -> None:
        drive(self._jobs.run(call))

    def facts(self) -> dict[str, object]:
        """Nothing beyond what the process reports of itself."""
        return {}

    def close(self) -> None:
        """Every thread has ended with its call."""
        drive(self._jobs.close())


class ThreadPool:
    """concurrent.futures.ThreadPoolExecutor with an explicit width, its threads up beforehand."""

    def __init__(self, jobs: Jobs, width: int) -> None:
        self._jobs = jobs
        self._width = width
        self._executor = ThreadPoolExecutor(max_workers=width)

    def open(self) -> None:
        """Have every worker started and idle."""
        drive(self._jobs.open())
        fill(self._executor, self._width)

    def run(self) -> None:
        """Submit each job at its intended start."""
        futures: list[Future[None]] = []
        for call in self._jobs.calls:
            wait_for_start(self._jobs, call)
            futures.append(self._executor.submit(drive, self._jobs.run(call)))
        for future in futures:
            future.result()

    def facts(self) -> dict[str, object]:
        """The width that ran."""
        return {"width": self._width}

    def close(self) -> None:
        """End the workers."""
        self._executor.shutdown()
        drive(self._jobs.close())


def fill(executor: ThreadPoolExecutor, width: int) -> None:
    """Start all threads of an executor, which makes them only as work comes: `width` tasks that wait
    for each other. Raises Refused with the number that came up."""
    together = threading.Barrier(width + 1)
    up = 0
    try:
        for _ in range(width):
            executor.submit(_meet, together)
            up += 1
    except RuntimeError as error:
        together.abort()
        raise Refused(up, str(error)) from None
    together.wait()


def _meet(together: threading.Barrier) -> None:
    try:
        together.wait()
    except threading.BrokenBarrierError:
        return


def per_call(jobs: Jobs, options: Options) -> ThreadPerCall:
    """A thread per call."""
    return ThreadPerCall(jobs)


def pool(jobs: Jobs, options: Options) -> ThreadPool:
    """A pool of options.width threads."""
    return ThreadPool(jobs, options.width)
