"""`run_or_replay`: carry a workflow out along its log, and go on where the log ends.

Its worker may die anywhere. Whoever takes the workflow up runs its code from the beginning; what the
log holds is given back without being done again, and the first thing it does not hold is done. One
session at a time has the log: the lease keeps others out, and the fence those who lost it.
"""

import contextlib
import inspect
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamlanes.durable.acting import Acting, InThread
from streamlanes.durable.activities import Workflow
from streamlanes.durable.errors import (
    CapReached,
    DurableError,
    LeaseLost,
    Misplaced,
    NewerVersion,
    WorkflowChanged,
)
from streamlanes.durable.events import Event, Events, Kind, said
from streamlanes.durable.history import History
from streamlanes.durable.running import Worker, not_now
from streamlanes.durable.sessions import PLACE, Branch, Session, put
from streamlanes.durable.state import decode
from streamlanes.durable.values import RUNTIME_VERSION, Clock, Lease, named
from streamlanes.durable.waits import drive


@dataclass(frozen=True)
class EventLog:
    """The log of one workflow, and the worker who carries it out.

    clock, draw: what `now()`, and `random()` and `uuid()`, read where the log holds nothing yet.
    """

    worker: Worker
    thread_id: str
    clock: Clock = time.time
    draw: random.Random = field(default_factory=random.Random)


def run_or_replay(
    workflow: Workflow | Callable[..., Any], log: EventLog, *args: object, **kwargs: object
) -> object:
    """Carry a workflow to its end; returns its result, which is JSON.

    One that is done already is replayed: nothing runs, nothing is written. Without arguments, a log that
    has begun gives those that it was begun with. A coroutine function is run in an event loop of its own.

    Raises LeaseHeld while another session has the log, LeaseLost when this one was too slow, OtherVersion
    where the execution stays on another runtime version than the worker has, CapReached when it may spend
    no more, Diverged and WorkflowChanged where code and log are not of one workflow, LogCut for a damaged
    log; and what the workflow raises, which ends nothing: it can be taken up again.
    """
    asked = _asked(workflow)
    if inspect.iscoroutinefunction(asked.function):
        import asyncio

        return asyncio.run(run_or_replay_async(asked, log, *args, **kwargs))
    return drive(_run(asked, log, args, kwargs, InThread()))


async def run_or_replay_async(
    workflow: Workflow | Callable[..., Any], log: EventLog, *args: object, **kwargs: object
) -> object:
    """The same in the running event loop, for coroutine functions."""
    from streamlanes.durable.looping import InLoop

    asked = _asked(workflow)
    if not inspect.iscoroutinefunction(asked.function):
        remedy = "make it a coroutine function, or use run_or_replay in a thread"
        raise Misplaced(log.thread_id, f"workflow {asked.name} would block the event loop", remedy)
    return await _run(asked, log, args, kwargs, InLoop())


async def _run(
    workflow: Workflow,
    log: EventLog,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    acting: Acting,
) -> object:
    worker, thread_id = log.worker, named(log.thread_id)
    claimed = await acting.result(worker.leases.claim(thread_id, worker.owner, worker.lease_s))
    lease = claimed.lease if claimed else None
    if lease is None and worker.leases.status(thread_id) != "done":
        raise not_now(thread_id, worker)
    if lease is not None:
        worker.heart.hold(lease)
    try:
        return await _carry_out(workflow, log, (args, kwargs), lease, acting)
    except LeaseLost:
        raise
    except CapReached:
        if lease is not None:
            await acting.result(worker.caps.stop(lease))
        raise
    except BaseException:
        if lease is not None:
            with contextlib.suppress(DurableError):  # must not hide the workflow's error
                worker.leases.release(lease)
        raise
    finally:
        if lease is not None:
            worker.heart.drop(lease)


async def _carry_out(
    workflow: Workflow,
    log: EventLog,
    given: tuple[Sequence[object], Mapping[str, object]],
    lease: Lease | None,
    acting: Acting,
) -> object:
    """A session from its beginning to its end. Nothing is written before the log is known to be this
    workflow's."""
    events = Events(log.worker.database)
    read = await acting.call(events.read, (log.thread_id,), {})
    assert isinstance(read, list)
    history = History(log.thread_id, read)
    if lease is None and history.ended is None:
        raise DurableError(log.thread_id, "it is done, and no workflow's", "take another thread_id")
    args, kwargs, data = _begun(workflow, history, *given)
    session = Session(history, events, lease, acting, log.worker, log.clock, log.draw)
    if lease is not None:
        told = {"owner": lease.owner, "version": workflow.version, "runtime": RUNTIME_VERSION}
        begun = {} if data is None else {"input": data}
        session.note("", Kind.SESSION, workflow.name, json.dumps({**told, **begun}))
    before = PLACE.set(Branch(session, "0", acting.here()))
    try:
        result = workflow.function(*args, **kwargs)
        if acting.loops:
            result = await result
        return await session.end(result)
    except DurableError:
        raise
    except Exception as error:
        session.see_that_it_holds()  # an error made of ours is not the workflow's
        with contextlib.suppress(DurableError):  # must not hide the workflow's error
            await session.broke(error)
        raise
    finally:
        session.over = True
        PLACE.reset(before)


def _begun(
    workflow: Workflow, history: History, args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Sequence[object], Mapping[str, object], str | None]:
    """Arguments to run with, and for a new log their text. Raises WorkflowChanged where the log was begun
    otherwise."""
    data = put(history.thread_id, args, kwargs, f"the input of {workflow.name}")
    if history.first is None:
        if history.length:
            remedy = "restore the store from a copy"
            raise DurableError(history.thread_id, "its log does not say which workflow it is of", remedy)
        return args, kwargs, data
    first = _first(history.thread_id, history.first)
    if (history.first.name, first["version"]) != (workflow.name, workflow.version):
        what = (
            f"its log was begun by {history.first.name} version {first['version']}, "
            f"this is {workflow.name} version {workflow.version}"
        )
        raise WorkflowChanged(history.thread_id, what, "run that version until its executions are done")
    if not args and not kwargs:
        logged: Any = decode(history.thread_id, "the input in its log", first["input"])
        return logged["args"], logged["kwargs"], None
    if first["input"] != data:
        what = f"its log was begun with the input {first['input'][:120]}, this is {data[:120]}"
        raise WorkflowChanged(history.thread_id, what, "give it the same, or none; or begin a new execution")
    return args, kwargs, None


def _first(thread_id: str, first: Event) -> dict[str, Any]:
    """What the event that began a log says."""
    told = said(thread_id, first)
    if not {"version", "runtime", "input"} <= told.keys():
        remedy = "restore the store from a copy"
        raise DurableError(thread_id, f"event {first.number} of its log says too little", remedy)
    if told["runtime"] > RUNTIME_VERSION:
        what = f"its log was written by runtime version {told['runtime']}, this is {RUNTIME_VERSION}"
        raise NewerVersion(thread_id, what, f"run it with version {told['runtime']} or newer")
    return told


def _asked(workflow: Workflow | Callable[..., Any]) -> Workflow:
    if isinstance(workflow, Workflow):
        return workflow
    return Workflow(getattr(workflow, "__name__", type(workflow).__name__), workflow)
