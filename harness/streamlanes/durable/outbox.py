"""The outbox: what a step sends is kept in the step's own transaction and sent by somebody else.

So a message is there exactly when its step is. The dispatcher may die between sending and noting
that it did, and then sends again: the receiver drops the second by its key. One dispatcher works at
a time, under a lock that lapses like a lease; so messages of a target go out in order of their due.
"""

import random
from collections.abc import Callable, Mapping

from streamlanes.durable.backoff import Backoff
from streamlanes.durable.database import Database
from streamlanes.durable.errors import DurableError
from streamlanes.durable.fence import FENCE, fenced
from streamlanes.durable.leases import Leases
from streamlanes.durable.points import Point, reach
from streamlanes.durable.values import Lease

LOCK = "dispatcher"
BATCH = 100
RETRIES = Backoff(attempts=20, first_s=0.1, most_s=60.0)

# A due that is further away than twice the longest wait was set before the clock was set back, as SQLite's is
# when the machine starts.
_DUE = f"""SELECT key, target, payload, attempts, thread_id FROM outbox
WHERE status = 'waiting' AND (due <= {{now}} OR due > {{now}} + :beyond_s) ORDER BY due, key LIMIT {BATCH}"""
_SENT = f"UPDATE outbox SET status = 'sent' WHERE key = :key AND status = 'waiting' AND {FENCE}"
_AGAIN = f"""UPDATE outbox SET attempts = :attempts, status = :status, due = {{now}} + :wait_s
WHERE key = :key AND status = 'waiting' AND attempts < :attempts AND {FENCE}"""
_COUNTS = "SELECT status, count(*) FROM outbox GROUP BY status"

Send = Callable[[str, str], object]
"""Deliver a payload under a key, to a receiver that drops a key it has seen. Raises where it failed."""


class Dispatcher:
    """Sends what the outbox holds.

    senders: by target. A message whose target nobody sends, or whose attempts are used up, is set to
    `failed` and stays.
    """

    def __init__(
        self,
        database: Database,
        leases: Leases,
        senders: Mapping[str, Send],
        backoff: Backoff = RETRIES,
        draw: random.Random | None = None,
    ) -> None:
        self._database = database
        self._leases = leases
        self._senders = senders
        self._backoff = backoff
        self._draw = draw or random.Random()

    def lock(self, owner: str, lease_s: float) -> Lease | None:
        """Become the one dispatcher; None while there is another. The caller renews the lease."""
        claimed = self._leases.lock(LOCK, owner, lease_s).result()
        return claimed.lease if claimed else None

    def send_due(self, lock: Lease) -> int:
        """Send what is due, at most a batch; returns how many were sent. Raises LeaseLost (nothing more
        is sent) when another has become the dispatcher."""
        sent = 0
        beyond = {"beyond_s": 2.0 * self._backoff.most_s}
        for key, target, payload, attempts, thread_id in self._database.read(_DUE, beyond):
            try:
                if target not in self._senders:
                    raise DurableError(thread_id, f"nobody sends to {target}", "name a sender for it")
                self._senders[target](key, payload)
            except Exception:
                self._note_failure(lock, key, attempts + 1)
                continue
            reach(Point.AFTER_SEND)
            self._database.submit(fenced(lock, _SENT, {"key": key})).result()
            sent += 1
        return sent

    def counts(self) -> Mapping[str, int]:
        """Messages by status: waiting, sent, failed."""
        return dict(self._database.read(_COUNTS, {}))

    def _note_failure(self, lock: Lease, key: str, attempts: int) -> None:
        over = attempts >= self._backoff.attempts
        wait_s = 0.0 if over else self._backoff.wait_s(attempts, self._draw)
        status = "failed" if over else "waiting"
        note = {"key": key, "attempts": attempts, "status": status, "wait_s": wait_s}
        self._database.submit(fenced(lock, _AGAIN, note)).result()
