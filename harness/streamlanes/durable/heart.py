"""The heartbeat of a worker process: one thread for all its leases.

It is a thread, so that a step that computes or blocks an event loop cannot starve it; and not a
process, because a process would keep alive the lease of a worker that is stopped. What still can
starve it is a single C call that holds the interpreter for longer than a lease: then the lease
lapses, and the fence makes that safe.
"""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import Protocol

from streamlanes.durable.errors import Closed
from streamlanes.durable.points import Point, reach
from streamlanes.durable.values import Lease

BEATS = 3
"""Heartbeats in a lease: two may come late before it lapses."""


class Renews(Protocol):
    """Where leases are renewed: answered with False for one that is lost."""

    def beat(self, lease: Lease) -> "Future[bool]": ...


_Name = tuple[str, str]
"""A lease's execution and token: leases that were taken together may share a token."""


def _name(lease: Lease) -> _Name:
    return lease.thread_id, lease.token


class Heart:
    """Renews the leases that are held, each `BEATS` times in its length."""

    def __init__(self, leases: Renews, lease_s: float) -> None:
        self.lease_s = lease_s
        self._leases = leases
        self._held: dict[_Name, Lease] = {}
        self._lost: set[_Name] = set()
        self._changing = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heart", daemon=True)
        self._thread.start()

    def hold(self, lease: Lease) -> None:
        """Renew this lease from now on."""
        with self._changing:
            self._held[_name(lease)] = lease

    def drop(self, lease: Lease) -> None:
        """Renew it no more."""
        with self._changing:
            self._held.pop(_name(lease), None)
            self._lost.discard(_name(lease))

    def lost(self, lease: Lease) -> bool:
        """Whether a heartbeat found that the lease is somebody else's, or nobody's."""
        with self._changing:
            return _name(lease) in self._lost

    def close(self) -> None:
        """End the thread. Leases that are held lapse."""
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        every_s = self.lease_s / BEATS
        asked: dict[_Name, Future[bool]] = {}
        next_s = time.monotonic() + every_s
        while not self._stop.wait(max(0.0, next_s - time.monotonic())):
            next_s = time.monotonic() + every_s
            asked = self._note(asked)
            with self._changing:
                held = [lease for name, lease in self._held.items() if name not in asked]
            if held:
                reach(Point.IN_HEARTBEAT)
                try:
                    asked |= {_name(lease): self._leases.beat(lease) for lease in held}
                except Closed:  # the store went before its worker did: leases lapse, as at a death
                    return
            wait(asked.values(), max(0.0, next_s - time.monotonic()))
            asked = self._note(asked)

    def _note(self, asked: "Mapping[_Name, Future[bool]]") -> "dict[_Name, Future[bool]]":
        """Take the answers that are there; returns those that are not. Nobody waits for one until then, and
        nobody asks again before it comes: a store that is away would be asked ever more."""
        late: dict[_Name, Future[bool]] = {}
        for name, answer in asked.items():
            if not answer.done():
                late[name] = answer
            elif answer.exception() is None and not answer.result():  # an error tells nothing: the fence does
                with self._changing:
                    if self._held.pop(name, None):
                        self._lost.add(name)
        return late
