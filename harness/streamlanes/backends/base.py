"""What a backend runs, and what it must offer."""

import gc
import resource
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
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


async def nothing() -> None:
    """What jobs that share nothing do before the first and after the last."""


@dataclass(frozen=True)
class Jobs:
    """N jobs and when each is meant to start. Picklable.

    run: the coroutine function done for each index. tables: the schedule first, then whatever the jobs
    write. calls: the indices, in order of their start. open, close: done once in each process that runs
    jobs, in its event loop if it has one, before the first job and after the last.
    """

    run: Callable[[int], Coroutine[Any, Any, None]]
    tables: tuple[Table, ...]
    calls: range
    open: Callable[[], Coroutine[Any, Any, None]] = nothing
    close: Callable[[], Coroutine[Any, Any, None]] = nothing

    def touch(self) -> None:
        """Map every page in this process: a forked worker's first stamps would pay for it else."""
        for table in self.tables:
            table.touch()

    def start_ns(self, call: int) -> int:
        """The call's intended start on CLOCK_MONOTONIC, once the origin is known."""
        schedule = self.tables[0]
        at: int = schedule["header"][ORIGIN] + schedule["start"][call]
        return at

    def share(self, which: int, among: int) -> "Jobs":
        """Every `among`-th job from `which` on: the same arrivals, thinned."""
        return replace(self, calls=self.calls[which::among])


@dataclass(frozen=True)
class Options:
    """What a person may set of a backend; None leaves the library's own default.

    width: calls at a time of a pool. workers: processes that share the calls. start_method: how
    those are started. stack_kib: of each new thread. switch_ms: the interpreter's switch interval.
    freeze: move what start-up allocated out of the garbage collector's sight. The last three are
    applied in every process that runs jobs.
    """

    width: int
    workers: int
    start_method: str | None = None
    stack_kib: int | None = None
    switch_ms: float | None = None
    freeze: bool = False

    def configure(self) -> None:
        """Set what was asked for in this process; what was not keeps the interpreter's default."""
        if self.stack_kib is not None:
            threading.stack_size(self.stack_kib * 1024)
        if self.switch_ms is not None:
            sys.setswitchinterval(self.switch_ms / 1000)

    def settle(self) -> None:
        """The last thing before this process is ready."""
        if self.freeze:
            gc.collect()
            gc.freeze()


def settings() -> dict[str, object]:
    """What really holds in this process: the switch interval, and the stack of a new thread."""
    set_bytes = threading.stack_size()
    threading.stack_size(set_bytes)  # to ask for it is to set it to the default
    stack_bytes = set_bytes or resource.getrlimit(resource.RLIMIT_STACK)[0]
    return {
        "switch_ms": sys.getswitchinterval() * 1000,
        "stack_kib": None if stack_bytes == resource.RLIM_INFINITY else stack_bytes // 1024,
    }


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
