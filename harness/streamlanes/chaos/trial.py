"""One trial of chaos: real processes, a real signal, and what is left afterwards."""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import psutil

from streamlanes.chaos.plan import How, Kill, Recovery, Size, Trial, counted
from streamlanes.children import Child, Gone, Launcher
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.database import Database
from streamlanes.durable.leases import Leases
from streamlanes.durable.opening import open_database
from streamlanes.durable.points import Point
from streamlanes.durable.receiver import Receiver

LIMIT_S = 60.0
"""A trial that is not over by then has unfinished executions, and says so."""
POLL_S = 0.01
HEARTBEAT_PACE_S = 0.06
"""Work in a step where the point is a heartbeat: there must be time for one."""


@dataclass
class Process:
    """A worker's process and what it said so far."""

    child: Child
    said: list[dict[str, Any]] = field(default_factory=list)
    gone: bool = False

    def listen(self, timeout_s: float) -> None:
        """Take what it says within the time."""
        until = time.monotonic() + timeout_s
        try:
            while word := self.child.hear(max(0.0, until - time.monotonic())):
                self.said.append(word)
        except Gone:
            self.gone = True

    def at_ns(self, event: str) -> int | None:
        """When it first said this; None when it did not."""
        return next((word["at_ns"] for word in self.said if word["event"] == event), None)

    def over(self) -> bool:
        """Whether it is done or dead."""
        return self.gone or self.at_ns("over") is not None


@dataclass(frozen=True)
class Place:
    """Where a trial happens: a store of its own (its kind and its address), a receiver, a launcher."""

    kind: str
    store: str
    schema: str
    receiver: Receiver
    launcher: Launcher

    def start(self, task: Mapping[str, object]) -> Process:
        """Start a worker."""
        child = Child(self.launcher, [sys.executable, "-P", "-m", "streamlanes.chaos.worker"], None)
        where = {"store": self.store, "schema": self.schema, "url": self.receiver.url}
        child.say({**where, **task})
        return Process(child)


@contextlib.contextmanager
def place(kind: str, store: str, schema: str, launcher: Launcher) -> Iterator[Place]:
    """A receiver for one trial; gone at the end of the block."""
    receiver = Receiver()
    try:
        yield Place(kind, store, schema, receiver, launcher)
    finally:
        receiver.close()


def run_trial(kill: Kill, size: Size, at: Place) -> Trial:
    """Carry a kill out and count."""
    names = [f"k{kill.number}-e{number}" for number in range(size.executions)]
    database = open_database(at.store, schema=at.schema)
    processes: list[Process] = []
    try:
        leases = Leases(database)
        for created in [leases.create(name) for name in names]:
            created.result()
        processes.append(at.start(_task(kill, size, strike=True)))
        struck = _struck(processes[0], kill.how)
        recovery = None
        if struck:
            recovery = _recover(kill, size, at, leases, processes)
        until(lambda: all(each.over() for each in processes), processes)
        return _trial(kill, size, names, struck, recovery, database, at, processes)
    finally:
        for each in processes:
            each.child.end()
        database.close()


def _task(kill: Kill, size: Size, strike: bool) -> dict[str, object]:
    pace_s = HEARTBEAT_PACE_S if kill.point is Point.IN_HEARTBEAT else size.pace_s
    return {
        "mode": "durable",
        "owner": "worker",  # the same name for both: what tells them apart is the token
        "lease_s": size.lease_s,
        "steps": size.steps,
        "threads": size.executions,
        "pace_s": pace_s,
        "strike": {"point": kill.point, "hit": kill.hit, "how": kill.how} if strike else None,
    }


def _struck(victim: Process, how: How) -> bool:
    """Wait until the worker has struck itself; False when it came to its end before that."""
    until(lambda: victim.over() or victim.at_ns("strike") is not None, [victim])
    if victim.at_ns("strike") is None:
        return False
    if how is How.STOP:
        process = psutil.Process(victim.child.pid)
        until(lambda: process.status() == psutil.STATUS_STOPPED, [])
    else:
        until(victim.child.ended, [])
    return True


def _recover(kill: Kill, size: Size, at: Place, leases: Leases, processes: list[Process]) -> Recovery:
    """Wait for the leases to lapse, start another worker, wake a worker that was stopped."""
    victim = processes[0]
    struck_ns = victim.at_ns("strike") or 0
    detected_ns = _detected_ns(kill, size, leases, victim)
    found_ns = detected_ns or time.monotonic_ns()
    rescuer = at.start(_task(kill, size, strike=False))
    processes.append(rescuer)
    until(lambda: rescuer.over() or rescuer.at_ns("claimed") is not None, [rescuer])
    if kill.how is How.STOP:
        _wake(victim)
    until(rescuer.over, processes)
    up, claimed, kept = (rescuer.at_ns(event) for event in ("up", "claimed", "kept"))
    return Recovery(
        detection_ms=_ms(struck_ns, detected_ns),
        detection_share=(detected_ns - struck_ns) / 1e9 / size.lease_s if detected_ns else None,
        start_ms=_ms(found_ns, up) or 0.0,
        replay_ms=_ms(up, claimed),
        first_step_ms=_ms(claimed, kept),
    )


def _detected_ns(kill: Kill, size: Size, leases: Leases, victim: Process) -> int | None:
    """When the reaper found a lapsed lease; None where the worker held none.

    A worker that is stopped within a transaction on SQLite keeps the whole file, and nobody can find
    anything until it goes on: after two leases it is let go on.
    """
    until = time.monotonic() + LIMIT_S
    patience_s = 2 * size.lease_s
    began = time.monotonic()
    while leases.standing():
        reaped: Future[Sequence[str]] = leases.reap()
        while not reaped.done() and time.monotonic() < until:
            if kill.how is How.STOP and time.monotonic() > began + patience_s:
                _wake(victim)
            time.sleep(POLL_S)
        if reaped.result(0):
            return time.monotonic_ns()
        if time.monotonic() > until:
            return None
        time.sleep(POLL_S)
    return None


def _wake(stopped: Process) -> None:
    """Let a worker go on; it may have been woken before, and be done."""
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(stopped.child.pid).resume()


def _trial(  # noqa: PLR0913, PLR0917  # all that a trial left behind
    kill: Kill,
    size: Size,
    names: Sequence[str],
    struck: bool,
    recovery: Recovery | None,
    database: Database,
    at: Place,
    processes: Sequence[Process],
) -> Trial:
    """Look at what is left: rows, ledger, words."""
    words = [word for each in processes for word in each.said]
    kept, done, begun = left_of(database, names, processes)
    counts = counted(size, names, kept, done, at.receiver.ledger("guarded"), begun)
    return Trial(
        kill,
        struck,
        counts,
        recovery,
        refused=sum(word["event"] == "lost" for word in words),
        errors=tuple(sorted({word["error"] for word in words if word["event"] == "failed"})),
    )


def left_of(
    database: Database, names: Sequence[str], processes: Sequence[Process]
) -> tuple[dict[str, list[Any]], list[str], list[tuple[str, int]]]:
    """The states that are kept by execution, what anyone calls done, and every step that was begun."""
    store, leases = Checkpoints(database), Leases(database)
    kept = {name: [json.loads(row.state) for row in store.history(name)] for name in names}
    words = [word for each in processes for word in each.said]
    done = {name for name in names if leases.status(name) == "done"}
    done |= {word["thread_id"] for word in words if word["event"] == "done"}
    begun = [(word["thread_id"], word["step"]) for word in words if word["event"] == "step"]
    return kept, sorted(done), begun


def until(what: Callable[[], object], processes: Sequence[Process]) -> None:
    """Wait for it, listening; give up at the limit: what is missing then is counted as missing."""
    until = time.monotonic() + LIMIT_S
    while not what() and time.monotonic() < until:
        live = [each for each in processes if not each.over()]
        for each in live:
            each.listen(POLL_S / len(live))
        if not live:
            time.sleep(POLL_S)


def _ms(from_ns: int | None, to_ns: int | None) -> float | None:
    return None if from_ns is None or to_ns is None else (to_ns - from_ns) / 1e6
