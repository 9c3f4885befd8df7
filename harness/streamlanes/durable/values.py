"""What stores, workers and effects pass to each other."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from streamlanes.durable.errors import DurableError

RUNTIME_VERSION = 1
"""The version of a worker that names none: of its agents' code, and so of what a checkpoint's bytes mean."""

MAX_NAME = 200
"""Longest thread_id, in characters."""

MOST = 2**63 - 1
"""Largest whole number that a column of the tables holds."""

Clock = Callable[[], float]
"""Seconds on a clock that every worker of a store reads alike."""


def boot_clock_s() -> float:
    """Seconds since the machine started, sleep included: nobody can set it, all processes share it."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write for one execution until `lease_s` after the last heartbeat.

    token: fresh at every claim, so that two claims of the same owner differ.
    epoch: counts the claims of an execution; it stands in each checkpoint as the fence.
    """

    thread_id: str
    owner: str
    token: str
    epoch: int
    lease_s: float


@dataclass(frozen=True, slots=True)
class Message:
    """Something to be sent once a step is kept: the step's pending write.

    key: the idempotency key that both ends de-duplicate by.
    target: names who sends it; see outbox.Dispatcher.
    """

    key: str
    target: str
    payload: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One super-step of one execution: the row with key (thread_id, step).

    state: JSON bytes, see state.encode. pending: the messages this step hands on.
    version: runtime version of the writer. epoch: the lease it was written under.
    """

    thread_id: str
    step: int
    state: bytes
    pending: tuple[Message, ...] = ()
    version: int = RUNTIME_VERSION
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Claimed:
    """A lease that was just claimed, and where the execution stands."""

    lease: Lease
    latest: Checkpoint | None


def named(thread_id: str) -> str:
    """The name of an execution, if it can be one. Raises DurableError otherwise."""
    if not thread_id or len(thread_id) > MAX_NAME or not thread_id.isprintable():
        remedy = f"give it 1 to {MAX_NAME} printable characters"
        raise DurableError(None, f"{thread_id[:40]!r} is no thread_id", remedy)
    return thread_id
