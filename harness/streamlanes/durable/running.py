"""`run_with_checkpoint`: carry an execution on from its last checkpoint to its end.

An agent is one coroutine function, called once a super-step with the state so far. Its worker may
die anywhere: the lease lapses, any other worker claims the execution, reads the latest checkpoint and
goes on with the step after it. A step that was not kept is done again; what it did to the world is
not (see effects.py), provided it goes through `Step.call` and `Step.send`, in the same order.
"""

import contextlib
import os
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database
from streamlanes.durable.effects import Effect, Effects, effect_key
from streamlanes.durable.errors import DurableError, LeaseHeld, LeaseLost
from streamlanes.durable.fence import lost
from streamlanes.durable.heart import Heart
from streamlanes.durable.leases import LEASE_S, Leases
from streamlanes.durable.points import Point, reach
from streamlanes.durable.state import decode, encode
from streamlanes.durable.tracing import SpanKind, Trace, noted
from streamlanes.durable.values import Checkpoint, Claimed, Lease, Message, named
from streamlanes.durable.waits import Blocking, Waits, drive


@dataclass(frozen=True, slots=True)
class Last:
    """What an agent returns in place of a state when it is done: the state that is final."""

    state: object


Agent = Callable[[object, "Step"], Awaitable[object]]
"""State and step to the next state. The first step gets None."""


class Step:
    """What a super-step can do besides computing a state."""

    def __init__(self, lease: Lease, number: int, effects: Effects, waits: Waits) -> None:
        self.thread_id = lease.thread_id
        self.number = number
        self._lease = lease
        self._effects = effects
        self._waits = waits
        self._calls = 0
        self.messages: list[Message] = []

    async def call(self, effect: Effect, payload: object) -> object:
        """Do something to the world, once; a step that is repeated gets the same answer."""
        key = effect_key(self.thread_id, self.number, self._calls)
        self._calls += 1
        return await self._effects.once(self._lease, key, effect, payload, self._waits)

    def send(self, target: str, payload: str) -> str:
        """Hand a message to the outbox, with this step or not at all; returns its key."""
        key = effect_key(self.thread_id, self.number, self._calls)
        self._calls += 1
        self.messages.append(Message(key, target, payload))
        return key

    async def keep(self, store: Checkpoints, state: bytes, *, last: bool) -> None:
        """Append this step to the store; over when it is durable."""
        row = Checkpoint(self.thread_id, self.number, state, tuple(self.messages))
        await self._waits.result(store.append(self._lease, row, last=last))


class Worker:
    """What a process needs to carry out executions of one database: as many at once as it likes.

    owner: a name for people; two workers may have the same one. traced: keep a span of every claim, step
    and attempt; see tracing.py and `streamlanes durable trace`.
    """

    def __init__(
        self,
        database: Database,
        owner: str | None = None,
        lease_s: float = LEASE_S,
        *,
        traced: bool = False,
    ) -> None:
        self.owner = owner or f"{os.getpid()}-{secrets.token_hex(2)}"
        self.lease_s = lease_s
        self.database = database
        self.trace = Trace(database) if traced else None
        self.store = Checkpoints(database)
        self.leases = Leases(database)
        self.effects = Effects(database, trace=self.trace)
        self.heart = Heart(self.leases, lease_s)

    def close(self) -> None:
        """Stop the heartbeat. Executions that still run here lose their lease."""
        self.heart.close()


def run_with_checkpoint(agent: Agent, thread_id: str, worker: Worker) -> object:
    """Carry an execution to its end in this thread; returns the final state.

    An execution that is done gives its final state at once. Raises LeaseHeld while another works on
    it, LeaseLost when this worker was too slow, StateError for a state that cannot be kept.
    """
    return drive(_run(agent, thread_id, worker, Blocking()))


async def run_with_checkpoint_async(agent: Agent, thread_id: str, worker: Worker) -> object:
    """The same in the running event loop."""
    from streamlanes.durable.looping import Looping

    return await _run(agent, thread_id, worker, Looping())


async def _run(agent: Agent, thread_id: str, worker: Worker, waits: Waits) -> object:
    claim = worker.leases.claim(named(thread_id), worker.owner, worker.lease_s)
    claimed = await waits.result(claim)
    if claimed is not None:
        return await carry_on(agent, claimed, worker, waits)
    latest = worker.store.latest(thread_id)
    if latest is not None and worker.leases.status(thread_id) == "done":
        return decode(thread_id, f"step {latest.step}", latest.state)
    remedy = f"wait for it, or for its lease to lapse ({worker.lease_s:g} s after its worker's end)"
    raise LeaseHeld(thread_id, "another worker has it", remedy)


async def carry_on(agent: Agent, claimed: Claimed, worker: Worker, waits: Waits) -> object:
    """Carry a claimed execution to its end; returns the final state. Its lease is let go at an error
    of the agent's, so that another may try at once."""
    lease, latest = claimed.lease, claimed.latest
    worker.heart.hold(lease)
    with noted(worker.trace, lease, SpanKind.CLAIM, worker.owner):
        pass  # of no length: a worker that dies could not note the end
    try:
        state = decode(lease.thread_id, f"step {latest.step}", latest.state) if latest else None
        number = latest.step + 1 if latest else 0
        while True:
            if worker.heart.lost(lease):
                raise lost(lease)
            with noted(worker.trace, lease, SpanKind.STEP, "", step=number):
                step = Step(lease, number, worker.effects, waits)
                made, last = await _step(agent, state, step, worker)
            # The next step sees what a worker that resumes would see.
            state = decode(lease.thread_id, f"step {number}", made)
            if last:
                return state
            number += 1
    except LeaseLost:
        raise
    except BaseException:
        _let_go(worker, lease)
        raise
    finally:
        worker.heart.drop(lease)


async def _step(agent: Agent, state: object, step: Step, worker: Worker) -> tuple[bytes, bool]:
    """One super-step, kept; returns its state and whether it was the last."""
    made = await agent(state, step)
    last = isinstance(made, Last)
    data = encode(step.thread_id, made.state if isinstance(made, Last) else made)
    reach(Point.BEFORE_CHECKPOINT)
    await step.keep(worker.store, data, last=last)
    reach(Point.AFTER_CHECKPOINT)
    return data, last


def _let_go(worker: Worker, lease: Lease) -> None:
    """Release a lease without waiting: a store that is away must not hide the agent's error."""
    with contextlib.suppress(DurableError):
        worker.leases.release(lease)
