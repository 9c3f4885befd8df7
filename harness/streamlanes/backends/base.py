"""What a backend runs, and what it must offer."""

import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from streamlanes.samples import ORIGIN, Table

now_ns: Callable[[], int] = time.perf_counter_ns

GRAIN_S = 0.001
"""The shortest sleep of a spawner. Event loops round timers to the millisecond; a shorter one would
come back at once on uvloop and spin until the start is due."""


class Refused(Exception):
    """The system would not give another thread or process. `reached`: how many calls had started."""

    def __init__(self, reached: int, reason: str) -> None:
        super().__init__(reached, reason)
        self.reached = reached
        self.reason = reason


@dataclass(frozen=True)
class Jobs:
    """N jobs and when each is meant to start. Picklable.

    run: the coroutine function done for each index. calls: the indices, in order of their start.
    """

    run: Callable[[int], Coroutine[Any, Any, None]]
    schedule: Table
    calls: range

    def start_ns(self, call: int) -> int:
        """The call's intended start on CLOCK_MONOTONIC, once the origin is known."""
        at: int = self.schedule["header"][ORIGIN] + self.schedule["start"][call]
        return at

    def share(self, which: int, among: int) -> "Jobs":
        """Every `among`-th job from `which` on: the same arrivals, thinned."""
        return Jobs(self.run, self.schedule, self.calls[which::among])


@dataclass(frozen=True)
class Options:
    """What a person may set of a backend; None leaves the library's own default.

    width: calls at a time of a pool. workers: processes that share the calls. start_method: how
    those are started.
    """

    width: int
    workers: int
    start_method: str | None = None


class Backend(Protocol):
    """Runs N jobs. `open`: loop, pool workers and processes up and idle. `run`: start each job at its
    intended start, return when all have ended; raises Refused. `close`: let workers go. `facts`:
    what was really used, read before `close`."""

    def open(self) -> None: ...
    def run(self) -> None: ...
    def facts(self) -> dict[str, object]: ...
    def close(self) -> None: ...


def drive(job: Coroutine[Any, Any, None]) -> None:
    """Run a job whose waits block. It never yields, so one `send` runs it through."""
    try:
        job.send(None)
    except StopIteration:
        return
    job.close()
    raise RuntimeError("a blocking job yielded: it was given an asynchronous client")
