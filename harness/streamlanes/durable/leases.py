"""Leases: who may work on an execution, and until when.

A claim makes a fresh token and raises the epoch; every write of the worker is held against both. So
a worker that was stopped, or slow, or cut off, changes nothing once its lease lapsed, even where it
has claimed the execution again itself. A lease is measured on the store's one clock. Where that is
set back, a lease that reaches further than twice its length is taken as lapsed: the wait is bounded,
and correctness never rests on the clock, only on the token.
"""

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from streamlanes.durable.checkpoints import LATEST, checkpoint
from streamlanes.durable.database import Database, Done, Params, Write
from streamlanes.durable.errors import DurableError
from streamlanes.durable.values import RUNTIME_VERSION, Claimed, Lease
from streamlanes.durable.versions import VERSION_OF, point_of

LEASE_S = 10.0

_CREATE = f"""INSERT INTO executions (thread_id, status, owner, token, epoch, expires, lease_s, version)
VALUES (:thread_id, :status, '', '', 0, 0, 0, {VERSION_OF}) ON CONFLICT DO NOTHING"""
_LAPSED = "(expires <= {now} OR expires > {now} + 2 * lease_s)"
_TAKEN = (
    "SET owner = :owner, token = :token, epoch = epoch + 1, expires = {now} + :lease_s, lease_s = :lease_s"
)
# A claim whose answer was lost on the way is asked for again with the same token, and is not counted twice.
_CLAIM = f"""UPDATE executions {_TAKEN}
WHERE thread_id = :thread_id AND status = :status AND (status = 'lock' OR version = :version) AND {_LAPSED}"""
# Two readings, for each finds its row at an end of the index: what waits, and where there is none of that,
# what a clock that was set back left standing. The second asks by the claimer's length first, so that it
# reads no row where no clock jumped.
_FOR_AGENTS = """SELECT thread_id FROM executions
    WHERE status = 'open' AND version = :version
    AND NOT EXISTS (SELECT 1 FROM events WHERE events.thread_id = executions.thread_id)"""
_WAITING = f"{_FOR_AGENTS} AND expires <= {{now}} ORDER BY expires LIMIT 1{{skip}}"
_LEFT_AHEAD = f"""{_FOR_AGENTS} AND expires > {{now}} + 2 * :lease_s AND {_LAPSED}
    ORDER BY expires LIMIT 1{{skip}}"""
_CLAIM_ANY = f"""UPDATE executions {_TAKEN}
WHERE thread_id = coalesce(({_WAITING}), ({_LEFT_AHEAD}))
AND NOT EXISTS (SELECT 1 FROM executions WHERE token = :token)"""
_MINE = "SELECT thread_id, epoch FROM executions WHERE token = :token"
_MY_LATEST = LATEST.replace(":thread_id", "(SELECT thread_id FROM executions WHERE token = :token)")
_BEAT = """UPDATE executions SET expires = {now} + lease_s
WHERE thread_id = :thread_id AND token = :token AND expires > {now}"""
_RELEASE = """UPDATE executions SET token = '', expires = 0
WHERE thread_id = :thread_id AND token = :token"""
_REAP = f"""UPDATE executions SET token = '', expires = 0
WHERE thread_id IN (SELECT thread_id FROM executions
    WHERE status <> 'done' AND expires > 0 AND {_LAPSED}{{skip}})
RETURNING thread_id"""
_STATUS = "SELECT status, version FROM executions WHERE thread_id = :thread_id"
_OPEN = "SELECT count(*) FROM executions WHERE status = 'open'"
_LEFT = "SELECT count(*) FROM executions WHERE status NOT IN ('done', 'lock')"
_STANDING = "SELECT count(*) FROM executions WHERE token <> ''"


class Leases:
    """Claims on the executions of one database. Futures are answered when durable.

    version: the runtime version whose executions are claimed, and that new ones get where nobody ever
    shared them out (see versions.py). Locks have none.
    """

    def __init__(self, database: Database, version: int = RUNTIME_VERSION) -> None:
        self._database = database
        self._version = version

    def create(self, thread_id: str) -> "Future[bool]":
        """Put an execution there for any worker of its version; answered with whether it is new."""
        params = self._made(thread_id, "open")
        return self._database.submit(
            Write(thread_id, ((_CREATE, params),), lambda done: done[0].changed == 1)
        )

    def claim(self, thread_id: str, owner: str, lease_s: float = LEASE_S) -> "Future[Claimed | None]":
        """Take an execution, new or abandoned; None where it is done, parked, capped, somebody's or of
        another version."""
        return self._claim(thread_id, owner, lease_s, "open")

    def claim_any(self, owner: str, lease_s: float = LEASE_S) -> "Future[Claimed | None]":
        """Take the open execution that waits longest; None where there is none. A workflow that has a log
        is left out: whoever asks so has an agent for it, and not the workflow's code.

        Where the clock was set back, a lease that reaches further than twice its own length and twice
        `lease_s` counts as lapsed.
        """
        token = secrets.token_hex(8)
        params: Params = {"owner": owner, "token": token, "lease_s": float(lease_s), "version": self._version}
        return self._database.submit(
            Write(None, ((_CLAIM_ANY, params), *_reading(token)), self._claimed(owner, token, lease_s))
        )

    def lock(self, name: str, owner: str, lease_s: float = LEASE_S) -> "Future[Claimed | None]":
        """Take a named lock, which one at a time holds and which lapses like a lease; None where it is
        held. For the one scheduler or dispatcher there may be."""
        return self._claim(f"lock:{name}", owner, lease_s, "lock")

    def beat(self, lease: Lease) -> "Future[bool]":
        """Renew a lease; answered with False when it is lost."""
        return self._touch(_BEAT, lease)

    def release(self, lease: Lease) -> "Future[bool]":
        """Let an execution go before its lease lapses; answered with False when it was lost."""
        return self._touch(_RELEASE, lease)

    def reap(self) -> "Future[Sequence[str]]":
        """Free what lapsed; answered with those executions. Claims work without it: it tells whoever
        starts workers that there is work."""
        return self._database.submit(
            Write(None, ((_REAP, {}),), lambda done: [thread_id for (thread_id,) in done[0].rows])
        )

    def status(self, thread_id: str) -> str | None:
        """`open`, `parked`, `capped`, `done`, or None for an execution that was never there."""
        rows = self._database.read(_STATUS, {"thread_id": thread_id})
        return str(rows[0][0]) if rows else None

    def version(self, thread_id: str) -> int | None:
        """The runtime version an execution stays on; None for one that was never there."""
        rows = self._database.read(_STATUS, {"thread_id": thread_id})
        return int(rows[0][1]) if rows else None

    def open(self) -> int:
        """Executions that a worker can go on with, now or when a lease lapses."""
        return int(self._database.read(_OPEN, {})[0][0])

    def left(self) -> int:
        """Executions that are not done, those that wait for a person or for a cap among them."""
        return int(self._database.read(_LEFT, {})[0][0])

    def standing(self) -> int:
        """Leases that nobody has given back, lapsed or not."""
        return int(self._database.read(_STANDING, {})[0][0])

    def _claim(self, thread_id: str, owner: str, lease_s: float, status: str) -> "Future[Claimed | None]":
        token = secrets.token_hex(8)
        params = self._made(thread_id, status)
        taken: Params = {**params, "owner": owner, "token": token, "lease_s": float(lease_s)}
        statements = ((_CREATE, params), (_CLAIM, taken), *_reading(token))
        return self._database.submit(Write(thread_id, statements, self._claimed(owner, token, lease_s)))

    def _claimed(self, owner: str, token: str, lease_s: float) -> Callable[[Sequence[Done]], Claimed | None]:
        """What a claim came to, from the two readings at its end."""

        def answer(done: Sequence[Done]) -> Claimed | None:
            *_, mine, latest = done
            if not mine.rows:
                return None
            ((thread_id, epoch),) = mine.rows
            lease = Lease(thread_id, owner, token, epoch, lease_s)
            try:
                return Claimed(lease, checkpoint(latest.rows[0], self._version) if latest.rows else None)
            except DurableError:
                self.release(lease)  # no work for this program, maybe for another
                raise

        return answer

    def _made(self, thread_id: str, status: str) -> Params:
        """What a row of an execution is made of, where there is none yet."""
        version = {"version": self._version, "at": point_of(thread_id)}
        return {"thread_id": thread_id, "status": status, **version}

    def _touch(self, template: str, lease: Lease) -> "Future[bool]":
        params = {"thread_id": lease.thread_id, "token": lease.token}
        return self._database.submit(
            Write(lease.thread_id, ((template, params),), lambda done: done[0].changed == 1)
        )


def _reading(token: str) -> tuple[tuple[str, Params], ...]:
    """Read back what a token has, and where that execution stands."""
    return ((_MINE, {"token": token}), (_MY_LATEST, {"token": token}))
