"""Spans: what a traced worker did, and when. Nothing waits for them, and nothing is decided by them.

They ride in the commits that come anyway. A worker that dies takes the last with it: what is missing
then is missing, and the checkpoints tell what was kept.
"""

import contextlib
import enum
import itertools
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager

from streamlanes.durable.database import Database, Write
from streamlanes.durable.errors import DurableError
from streamlanes.durable.people import Interrupted
from streamlanes.durable.values import RUNTIME_VERSION, Clock, Lease

_PUT = """INSERT INTO spans (thread_id, token, number, kind, name, step, key, attempt, epoch, owner, version,
    began, took, outcome)
VALUES (:thread_id, :token, :number, :kind, :name, :step, :key, :attempt, :epoch, :owner, :version,
    :began, :took, :outcome) ON CONFLICT DO NOTHING"""

OK = "ok"
PARKED = "parked"
"""How a step ends that waits for a person: it is repeated once there is an answer, or a `retry`."""


class SpanKind(enum.StrEnum):
    """What a span is of."""

    CLAIM = "claim"  # a worker took the execution up, or woke the agent; it has no length
    STEP = "step"  # a super-step until it was durable, or a wake-up until its mail was dispatched
    ATTEMPT = "attempt"  # an attempt of an effect, or a reply that an agent was asked for


class Trace:
    """Notes the spans of one worker. version: of its agents. clock: wall time, for people; lengths are
    measured apart."""

    def __init__(self, database: Database, version: int = RUNTIME_VERSION, clock: Clock = time.time) -> None:
        self._database = database
        self._version = version
        self._clock = clock
        self._numbers = itertools.count()

    @contextlib.contextmanager
    def span(
        self, lease: Lease, kind: SpanKind, name: str, *, step: int = -1, key: str = "", attempt: int = 0
    ) -> Iterator[None]:
        """Note how long the block took and how it ended: `ok`, `parked`, or the class of what it raised."""
        began_s, began_ns, outcome = self._clock(), time.perf_counter_ns(), OK
        try:
            yield
        except Interrupted:
            outcome = PARKED
            raise
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            row = {
                "thread_id": lease.thread_id,
                "token": lease.token,
                "number": next(self._numbers),
                "kind": kind.value,
                "name": name,
                "step": step,
                "key": key,
                "attempt": attempt,
                "epoch": lease.epoch,
                "owner": lease.owner,
                "version": self._version,
                "began": float(began_s),
                "took": (time.perf_counter_ns() - began_ns) / 1e9,
                "outcome": outcome,
            }
            with contextlib.suppress(DurableError):  # a store that is gone has its own word
                self._database.submit(Write(lease.thread_id, ((_PUT, row),), lambda _: None))


def noted(  # the parts of a span
    trace: Trace | None,
    lease: Lease,
    kind: SpanKind,
    name: str,
    *,
    step: int = -1,
    key: str = "",
    attempt: int = 0,
) -> AbstractContextManager[None]:
    """A span where the worker is traced, nothing where it is not."""
    if trace is None:
        return contextlib.nullcontext()
    return trace.span(lease, kind, name, step=step, key=key, attempt=attempt)
