"""One trial of chaos: real processes, a real signal, and what is left afterwards."""

import contextlib
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace

import psutil

from streamlanes.chaos.place import LIMIT_S, POLL_S, Place, Process, until
from streamlanes.chaos.plan import SQLITE, How, Kill, Recovery, Size, Trial
from streamlanes.chaos.scenarios import played
from streamlanes.chaos.scenarios.base import Left
from streamlanes.durable.leases import Leases
from streamlanes.durable.opening import open_database

PATIENCE = 2
"""For so many of its lengths a worker that keeps a file of SQLite stays stopped."""
LEASES = 5
"""A lease that is to lapse has done so after so many of its lengths."""


def run_trial(kill: Kill, size: Size, at: Place) -> Trial:
    """Carry a kill out and count."""
    scenario = played(kill.scenario)
    database = open_database(at.store, schema=at.schema)
    processes: list[Process] = []
    try:
        scenario.lay(database, kill, size)
        task, *beside = scenario.tasks(kill, size)
        strike = {"point": kill.point, "hit": kill.hit, "how": kill.how}
        processes.append(at.start({**task, "strike": strike}))
        processes += [at.start(each) for each in beside]
        struck = _struck(processes, kill.how)
        recovery = _recover(kill, size, at, Leases(database), task, processes) if struck else None
        until(lambda: all(each.over() for each in processes), processes)
        words = [word for each in processes for word in each.said]
        left = Left(database, at.receiver.ledger("guarded"), words)
        counts = scenario.counts(kill, size, left)
        if recovery is not None and recovery.late:
            counts = replace(counts, unfinished=max(1, counts.unfinished))
        return Trial(
            kill,
            struck,
            counts,
            recovery,
            refused=len(left.said("lost")),
            errors=_errors(left, processes),
            durability=database.durability,
        )
    finally:
        for each in processes:
            each.child.end()
        database.close()


def _errors(left: Left, processes: Sequence[Process]) -> tuple[str, ...]:
    """What workers met, and how those ended that never came up."""
    met = {str(word["error"]) for word in left.said("failed")}
    never_up = {each.ending for each in processes if each.gone and each.at_ns("up") is None}
    return tuple(sorted(met | never_up))


def _struck(processes: Sequence[Process], how: How) -> bool:
    """Wait until the first worker has struck itself; False when it came to its end before that."""
    victim = processes[0]
    until(lambda: victim.over() or victim.at_ns("strike") is not None, processes)
    if victim.at_ns("strike") is None:
        return False
    if how is How.STOP:
        process = psutil.Process(victim.child.pid)
        until(lambda: process.status() == psutil.STATUS_STOPPED, [])
    else:
        until(victim.child.ended, [])
    return True


def _recover(
    kill: Kill, size: Size, at: Place, leases: Leases, task: Mapping[str, object], processes: list[Process]
) -> Recovery:
    """Wait for the leases to lapse, start another worker, wake a worker that was stopped.

    On SQLite that may have been within a transaction before it held any lease: once another is up, it gets
    as long to go on as a lease gets to be found lapsed (see _detected_ns).
    """
    victim = processes[0]
    struck_ns = victim.at_ns("strike") or 0
    detected_ns = _detected_ns(kill, size, leases, victim)
    found_ns = detected_ns or time.monotonic_ns()
    rescuer = at.start(task)
    processes.append(rescuer)
    until(lambda: rescuer.over() or rescuer.at_ns("up") is not None, processes)
    file_kept = kill.how is How.STOP and kill.store == SQLITE
    limit_s = PATIENCE * size.lease_s if file_kept else LIMIT_S
    until(lambda: rescuer.over() or rescuer.at_ns("claimed") is not None, processes, limit_s)
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
        stood_ms=_ms(struck_ns, kept or claimed),
    )


def _detected_ns(kill: Kill, size: Size, leases: Leases, victim: Process) -> int | None:
    """When the reaper found a lapsed lease; None where the worker held none.

    A worker that is stopped within a transaction on SQLite keeps the whole file, and nobody can find
    anything until it goes on: after so many leases (PATIENCE) it is let go on. Leases of workers beside it
    stand.
    """
    until = time.monotonic() + LIMIT_S
    patience_s = PATIENCE * size.lease_s
    began = time.monotonic()
    while leases.standing():
        reaped: Future[Sequence[str]] = leases.reap()
        while not reaped.done() and time.monotonic() < until:
            if kill.how is How.STOP and time.monotonic() > began + patience_s:
                _wake(victim)
            time.sleep(POLL_S)
        if reaped.result(0):
            return time.monotonic_ns()
        if time.monotonic() > min(until, began + LEASES * size.lease_s):
            return None
        time.sleep(POLL_S)
    return None


def _wake(stopped: Process) -> None:
    """Let a worker go on; it may have been woken before, and be done."""
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(stopped.child.pid).resume()


def _ms(from_ns: int | None, to_ns: int | None) -> float | None:
    return None if from_ns is None or to_ns is None else (to_ns - from_ns) / 1e6
