"""What the steps of executions do in a cell, and their stamps."""

import base64
import itertools
import math
import random
from typing import Any

from streamlanes.clients.base import Client, Setting, now_ns
from streamlanes.durable.architecture import Made, StepFailed
from streamlanes.durable.waits import Blocking, Waits
from streamlanes.jobs.io import IoJob
from streamlanes.jobs.retrying import Retry, wait_s
from streamlanes.samples import ORIGIN, Outcome, Table, call_columns

AROUND = len('{"text":""}')
"""Bytes of a state beside its text."""


def state_of(size: int) -> dict[str, str]:
    """A state whose JSON has `size` bytes, of letters that no store can press together."""
    text = base64.b64encode(random.Random(1).randbytes(size)).decode()
    return {"text": text[: max(0, size - AROUND)]}


class LaneSteps:
    """Steps, as an architecture is given them (durable.architecture.Steps).

    Columns of an execution: kept (steps acknowledged), first_kept and last_kept (CLOCK_MONOTONIC ns), again
    (steps begun again), twice (acknowledgements of a step that had one). Of the latest acknowledgements, in a
    ring: acked_at (ns) and ack (ns from the end of the step's work).

    limit: steps of an execution, None for no end. run_ns: from the cell's origin, after which each execution
    ends with the step it is in; None for no end. client: of the streaming call that a step is, None for bare
    steps, which do nothing. retry: what a step does about a call that was refused with 429.
    """

    def __init__(  # what a step is made of
        self,
        setting: Setting,
        samples: Table,
        client: Client | None,
        *,
        state_bytes: int,
        limit: int | None,
        run_ns: int | None,
        retry: Retry = Retry.NONE,
    ) -> None:
        calls, first = setting.calls, setting.schedule["first"]
        self._header = setting.schedule["header"]
        self._limit = limit
        self._run_ns = run_ns
        self._until_ns = 0
        self._retry = retry
        self._draw = random.Random(1)
        self._waits: Waits = Blocking()
        state = state_of(state_bytes)
        self._useful_bytes = len(state["text"]) + AROUND
        self._more, self._last = Made(state, last=False), Made(state, last=True)
        self._begun = [-1] * calls
        self._made_ns = [0] * calls
        self._columns = {
            name: samples[name] for name in ("kept", "first_kept", "last_kept", "again", "twice")
        }
        self._acked_at, self._ack = samples["acked_at"], samples["ack"]
        self._size = len(self._ack)
        self._numbers = itertools.count()
        self._calls_made = itertools.count()
        self._stream: IoJob | None = None
        if client is not None:
            # A step is the same call each time: what the call stamps is looked at and not kept.
            self._scratch = Table.create("scratch", call_columns(calls, first[calls]))
            self._stream = IoJob(setting, self._scratch, client)

    async def open(self, waits: Waits) -> None:
        """What the streams share is made. waits: how a step waits before it asks again."""
        self._waits = waits
        if self._stream is not None:
            await self._stream.open()

    async def close(self) -> None:
        """It is let go."""
        if self._stream is not None:
            await self._stream.close()

    async def work(self, execution: int, step: int) -> Made:
        """See durable.architecture.Steps."""
        if step <= self._begun[execution]:
            self._columns["again"][execution] += 1
        self._begun[execution] = max(step, self._begun[execution])
        if self._stream is not None:
            await self._called(self._stream, execution)
        now = now_ns()
        self._made_ns[execution] = now
        return self._last if self._left_s(now) <= 0 or step + 1 == self._limit else self._more

    def kept(self, execution: int, step: int) -> None:
        """See durable.architecture.Steps."""
        now = now_ns()
        at = self._columns
        if step < at["kept"][execution]:
            at["twice"][execution] += 1
            return
        if not step:
            at["first_kept"][execution] = now
        at["last_kept"][execution] = now
        at["kept"][execution] = step + 1
        row = next(self._numbers) % self._size
        self._acked_at[row] = now
        self._ack[row] = now - self._made_ns[execution]

    async def _called(self, stream: IoJob, execution: int) -> None:
        """Make the call of a step until it is answered, or until it must be given up."""
        for attempt in itertools.count(1):
            next(self._calls_made)
            await stream(execution)
            how = Outcome(self._scratch["outcome"][execution])
            if how is Outcome.OK:
                return
            left_s = self._left_s(now_ns())
            refused = how is Outcome.STATUS_4XX and left_s > 0
            pause_s = wait_s(self._retry, attempt, self._draw) if refused else None
            if pause_s is None:
                raise StepFailed(f"the call of a step ended as {how.name.lower()}")
            await self._waits.sleep(min(pause_s, left_s))

    def _left_s(self, now: int) -> float:
        """Until executions are to end. The origin is known once jobs run."""
        if self._run_ns is None:
            return math.inf
        self._until_ns = self._until_ns or self._header[ORIGIN] + self._run_ns
        return (self._until_ns - now) / 1e9

    def facts(self) -> dict[str, Any]:
        """Bytes of a step that somebody wanted kept, and calls that were made."""
        calls = {} if self._stream is None else {"calls_made": next(self._calls_made)}
        return {"useful_bytes": self._useful_bytes, **calls}
