"""The concurrency models under test: a table of names, imported only when chosen."""

import enum
import os
import sys
from dataclasses import dataclass


class Waits(enum.StrEnum):
    """How a job waits under a backend, and so which form of a client it needs."""

    ASYNC = "async"
    BLOCKING = "blocking"


@dataclass(frozen=True, kw_only=True)
class BackendInfo:
    """What the parent must know of a backend without importing it.

    target: "module:attribute" of its factory. threads_per_call: whether each call has a thread.
    bounded: whether a width limits the calls in flight. pool_of_processes: whether that width counts
    processes. processes: whether `workers` processes share the calls. needs: the import it cannot do
    without.
    """

    target: str
    waits: Waits
    threads_per_call: bool = False
    bounded: bool = False
    pool_of_processes: bool = False
    processes: bool = False
    needs: str | None = None


def cpus() -> int:
    """CPUs this process may use (affinity)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_width(name: str, release: tuple[int, int] | None = None) -> int | None:
    """The bound the standard library sets when nobody asks for one; None for unbounded backends.

    release: (major, minor) of the interpreter in question, None for this one.
    ThreadPoolExecutor and asyncio's default executor: min(32, CPUs + 4). ProcessPoolExecutor: CPUs.
    CPUs: all of the machine's before Python 3.13, from then on those this process may use.
    """
    info = BACKENDS[name]
    if not info.bounded:
        return None
    count = cpus() if (release or sys.version_info) >= (3, 13) else os.cpu_count() or 1
    return count if info.pool_of_processes else min(32, count + 4)


BACKENDS: dict[str, BackendInfo] = {
    "asyncio": BackendInfo(target="streamlanes.backends.aio:asyncio_loop", waits=Waits.ASYNC),
    "uvloop": BackendInfo(target="streamlanes.backends.aio:uvloop_loop", waits=Waits.ASYNC, needs="uvloop"),
    "threads": BackendInfo(
        target="streamlanes.backends.threads:per_call", waits=Waits.BLOCKING, threads_per_call=True
    ),
    "thread-pool": BackendInfo(
        target="streamlanes.backends.threads:pool", waits=Waits.BLOCKING, bounded=True
    ),
    "process-pool": BackendInfo(
        target="streamlanes.backends.process_pool:pool",
        waits=Waits.BLOCKING,
        bounded=True,
        pool_of_processes=True,
    ),
    "asyncio+to_thread": BackendInfo(
        target="streamlanes.backends.to_thread:to_thread", waits=Waits.BLOCKING, bounded=True
    ),
    "processes+asyncio": BackendInfo(
        target="streamlanes.backends.processes:asyncio_loops", waits=Waits.ASYNC, processes=True
    ),
    "processes+uvloop": BackendInfo(
        target="streamlanes.backends.processes:uvloop_loops",
        waits=Waits.ASYNC,
        processes=True,
        needs="uvloop",
    ),
    "processes+threads": BackendInfo(
        target="streamlanes.backends.processes:threads_per_call",
        waits=Waits.BLOCKING,
        processes=True,
        threads_per_call=True,
    ),
}
