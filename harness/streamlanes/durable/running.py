"""`run_with_checkpoint`: carry an execution on from its last checkpoint to its end.

An agent is one coroutine function, called once a super-step with the state so far. Its worker may
die anywhere: the lease lapses, any other worker claims the execution, reads the latest checkpoint and
goes on with the step after it. A step that was not kept is done again; what it did to the world is
not (see effects.py), provided it goes through `Step.call` and `Step.send`, in the same order. A step
that asks a person (see people.py) ends there, and is repeated once there is a decision.
"""

import contextlib
import os
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from streamlanes.durable.caps import Caps
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database
from streamlanes.durable.effects import Effect, Effects, effect_key
from streamlanes.durable.errors import CapReached, DurableError, LeaseHeld, LeaseLost, OtherVersion, Parked
from streamlanes.durable.fence import lost
from streamlanes.durable.heart import Heart
from streamlanes.durable.leases import LEASE_S, Leases
from streamlanes.durable.people import Decision, Interrupted, People, Question, Status, canonical
from streamlanes.durable.points import Point, reach
from streamlanes.durable.state import decode, encode
from streamlanes.durable.tracing import SpanKind, Trace, noted
from streamlanes.durable.values import RUNTIME_VERSION, Checkpoint, Claimed, Lease, Message, named
from streamlanes.durable.waits import Blocking, Waits, drive


@dataclass(frozen=True, slots=True)
class Last:
    """What an agent returns in place of a state when it is done: the state that is final."""

    state: object


Agent = Callable[[object, "Step"], Awaitable[object]]
"""State and step to the next state. The first step gets None."""


class Step:
    """What a super-step can do besides computing a state."""

    def __init__(self, worker: "Worker", lease: Lease, number: int, waits: Waits) -> None:
        self.thread_id = lease.thread_id
        self.number = number
        self.version = worker.version
        self._worker = worker
        self._lease = lease
        self._waits = waits
        self._calls = 0
        self.messages: list[Message] = []

    async def call(self, effect: Effect, payload: object) -> object:
        """Do something to the world, once; a step that is repeated gets the same answer."""
        return await self._once(self._place(), effect, payload)

    def send(self, target: str, payload: str) -> str:
        """Hand a message to the outbox, with this step or not at all; returns its key."""
        key = self._place()
        self.messages.append(Message(key, target, payload))
        return key

    async def interrupt(
        self, proposal: object, *, reapprove_on_resume: bool = False, tell: str | None = None
    ) -> Decision:
        """Ask a person. The step ends here and holds nothing; it is repeated once there is a decision, and
        then gets it.

        proposal: JSON, what the person reads. tell: target of the outbox whose sender tells them of it.
        reapprove_on_resume: an approval is for one life of the step; a worker that resumes after that asks
        again. Raises ProposalChanged where the decision was on something else.
        """
        text = canonical(self.thread_id, proposal)
        return await self._ask(Question(self._place(), text, reapprove_on_resume, tell))

    async def propose(
        self, effect: Effect, proposal: object, *, reapprove_on_resume: bool = False, tell: str | None = None
    ) -> Decision:
        """Propose, then commit: ask a person, and carry the effect out with exactly what was approved, once.

        The decision has the effect's answer. Where the effect is done already nobody is asked again,
        whatever the policy. See `interrupt`.
        """
        text = canonical(self.thread_id, proposal)
        place, commits = self._place(), self._place()
        said = await self._ask(Question(place, text, reapprove_on_resume, tell, commits))
        if not said.approved:
            return said
        return replace(said, answer=await self._once(commits, effect, said.proposal))

    async def keep(self, store: Checkpoints, state: bytes, *, last: bool) -> None:
        """Append this step to the store; over when it is durable."""
        lease = self._lease
        row = Checkpoint(self.thread_id, self.number, state, tuple(self.messages), self.version, lease.epoch)
        await self._waits.result(store.append(lease, row, last=last))

    def _place(self) -> str:
        """The key of the next call."""
        key = effect_key(self.thread_id, self.number, self._calls)
        self._calls += 1
        return key

    async def _once(self, key: str, effect: Effect, payload: object) -> object:
        return await self._worker.effects.once(self._lease, key, effect, payload, self._waits)

    async def _ask(self, question: Question) -> Decision:
        reach(Point.BEFORE_PARK)
        said = await self._waits.result(self._worker.people.ask(self._lease, question))
        if said is None:
            reach(Point.AFTER_PARK)
            raise Interrupted(question.place)
        reach(Point.AFTER_DECISION)
        return said


class Worker:
    """What a process needs to carry out executions of one database: as many at once as it likes.

    owner: a name for people; two workers may have the same one. version: of the code of its agents; it
    carries out executions of that version only (see versions.py). traced: keep a span of every claim, step
    and attempt; see tracing.py and `streamlanes durable trace`.
    """

    def __init__(
        self,
        database: Database,
        owner: str | None = None,
        lease_s: float = LEASE_S,
        version: int = RUNTIME_VERSION,
        *,
        traced: bool = False,
    ) -> None:
        self.owner = owner or f"{os.getpid()}-{secrets.token_hex(2)}"
        self.lease_s = lease_s
        self.version = version
        self.database = database
        self.trace = Trace(database, version) if traced else None
        self.store = Checkpoints(database, version)
        self.leases = Leases(database, version)
        self.effects = Effects(database, trace=self.trace)
        self.people = People(database)
        self.caps = Caps(database)
        self.heart = Heart(self.leases, lease_s)

    def close(self) -> None:
        """Stop the heartbeat. Executions that still run here lose their lease."""
        self.heart.close()


def run_with_checkpoint(agent: Agent, thread_id: str, worker: Worker) -> object:
    """Carry an execution to its end in this thread; returns the final state.

    An execution that is done gives its final state at once. Raises LeaseHeld while another works on
    it, LeaseLost when this worker was too slow, Parked while it waits for a person, CapReached when it
    may spend no more, OtherVersion for one of another version, StateError for a state that cannot be
    kept.
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
    raise not_now(thread_id, worker)


async def carry_on(agent: Agent, claimed: Claimed, worker: Worker, waits: Waits) -> object:
    """Carry a claimed execution to its end; returns the final state. Its lease is let go at an error
    of the agent's, so that another may try at once.

    Raises Parked where a step asked a person, CapReached where a cap stopped it: nothing of it is left
    in this process then, and it goes on anywhere.
    """
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
                made, last = await _step(agent, state, Step(worker, lease, number, waits), worker)
            # The next step sees what a worker that resumes would see.
            state = decode(lease.thread_id, f"step {number}", made)
            if last:
                return state
            number += 1
    except Interrupted:
        raise _parked(lease.thread_id, worker) from None
    except LeaseLost:
        raise
    except CapReached:
        await waits.result(worker.caps.stop(lease))
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


def _parked(thread_id: str, worker: Worker) -> Parked:
    """What is said of an execution that waits for a person."""
    waiting = [each.id for each in worker.people.of(thread_id) if each.status is Status.PENDING]
    which = waiting[0] if waiting else "ID"
    what = f"it waits for a person, request {which}" if waiting else "it waited for a person"
    return Parked(thread_id, what, f"decide it with `streamlanes durable approve {which}`, or reject")


def not_now(thread_id: str, worker: Worker) -> DurableError:
    """Why an execution could not be claimed."""
    status, version = worker.leases.status(thread_id), worker.leases.version(thread_id)
    if version is not None and version != worker.version:
        what = f"it stays on version {version}, this worker has version {worker.version}"
        remedy = f"start a worker of version {version}; `streamlanes durable versions` says who needs one"
        return OtherVersion(thread_id, what, remedy)
    if status == "parked":
        return _parked(thread_id, worker)
    if status == "capped":
        remedy = "raise the cap with `streamlanes durable cap` to go on"
        return CapReached(thread_id, "a cap on what may be spent stopped it", remedy)
    remedy = f"wait for it, or for its lease to lapse ({worker.lease_s:g} s after its worker's end)"
    return LeaseHeld(thread_id, "another worker has it", remedy)
