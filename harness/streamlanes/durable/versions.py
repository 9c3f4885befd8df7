"""Rainbow deployment: several runtime versions at once, each execution on the one it began with.

A new execution gets its version from a stable hash of its thread_id, which is a place on the line
from 0 to 1, and from the part of that line that each version has: so the same thread_id gets the same
version wherever it is created, and a share that grows only ever takes thread_ids from the neighbours.
The version is written into the execution's row, and a worker claims rows of its own version only.

To end a version, give it a share of 0. It is draining while executions of it are left, and drained
after. While it has a share it never drains, however long one waits.
"""

import enum
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from streamlanes.durable.database import Database, Row, Transaction, Work
from streamlanes.durable.errors import DurableError
from streamlanes.durable.values import MOST

VERSION_OF = "coalesce((SELECT version FROM versions WHERE starts <= :at AND ends > :at), :version)"
"""The version of a new execution; :version where no shares were ever set."""

_CLOSE_TO_ONE = 1e-9
_BITS = 53
"""As many as a float holds exactly."""

_READ = "SELECT version, starts, ends, closed FROM versions"
_THERE = "SELECT DISTINCT version FROM executions WHERE status <> 'lock'"
_COUNTS = """SELECT version, status, count(*), max(ended) FROM executions
WHERE status <> 'lock' GROUP BY version, status"""
_ENDED_SINCE = """SELECT e.version, count(*) FROM executions e JOIN versions v ON v.version = e.version
WHERE e.status = 'done' AND e.ended >= v.closed GROUP BY e.version"""
_KEEP = """INSERT INTO versions (version, starts, ends, closed) VALUES (:version, :starts, :ends, :closed)
ON CONFLICT (version)
DO UPDATE SET starts = excluded.starts, ends = excluded.ends, closed = excluded.closed"""


class Phase(enum.StrEnum):
    """Where a version is on its way."""

    ACTIVE = "active"  # gets new executions
    DRAINING = "draining"  # gets none, and has some left
    DRAINED = "drained"  # has none left: its workers can go


@dataclass(frozen=True, slots=True)
class Standing:
    """How a version stands.

    share: of new executions, 0 to 1. open, parked, capped, done: its executions by status.
    drained_s: how long the last of them took after it was closed; None before it is drained.
    left_s: how long the rest will take, at the rate since it was closed; None where `why` says.
    """

    version: int
    share: float
    phase: Phase
    open: int
    parked: int
    capped: int
    done: int
    drained_s: float | None
    left_s: float | None
    why: str | None

    @property
    def left(self) -> int:
        """Executions that are not done."""
        return self.open + self.parked + self.capped


def point_of(thread_id: str) -> float:
    """The place of an execution on the line: from 0, below 1, the same for every process and release."""
    digest = hashlib.sha256(thread_id.encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> (64 - _BITS)) / 2.0**_BITS


class Versions:
    """The versions of one database. now: the wall clock, for what a person reads."""

    def __init__(self, database: Database, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._now = now

    def share(self, shares: Mapping[int, float]) -> "Future[None]":
        """From now on give new executions to these versions; to those not named, none.

        Executions that are there stay where they are. Raises DurableError where the shares are none.
        """
        _checked(shares)
        now_s = self._now()

        def do(transaction: Transaction) -> None:
            # Two that read before either wrote would both give the same part of the line away.
            transaction.run("{alone}", {})
            before = {row[0]: row for row in transaction.run(_READ, {}).rows}
            there = {version for (version,) in transaction.run(_THERE, {}).rows}
            starts = 0.0
            last = max(version for version, share in shares.items() if share)
            for version in sorted({*before, *there, *shares}):
                share = shares.get(version, 0.0)
                ends = 1.0 if version == last else starts + share
                row = {"version": version, "starts": starts, "ends": ends, "closed": 0.0}
                if not share:
                    row |= {"starts": 0.0, "ends": 0.0, "closed": _closed(before.get(version), now_s)}
                transaction.run(_KEEP, row)
                starts += share

        return self._database.submit(Work(None, do))

    def standing(self) -> Sequence[Standing]:
        """How each version stands, the oldest first."""
        shares = {version: rest for version, *rest in self._database.read(_READ, {})}
        counts: dict[int, dict[str, tuple[int, float]]] = {version: {} for version in shares}
        for version, status, count, ended_s in self._database.read(_COUNTS, {}):
            counts.setdefault(version, {})[status] = (count, ended_s)
        since: dict[int, int] = dict(self._database.read(_ENDED_SINCE, {}))
        now_s = self._now()
        return [
            standing(version, shares.get(version), counts[version], since.get(version, 0), now_s)
            for version in sorted(counts)
        ]


def standing(
    version: int,
    row: Sequence[float] | None,
    counts: Mapping[str, tuple[int, float]],
    ended_since: int,
    now_s: float,
) -> Standing:
    """What rows say of a version.

    row: starts, ends, closed; None where no shares were ever set. counts: executions by status, and
    when the last of them ended. ended_since: those that ended since the version was closed.
    """
    starts, ends, closed_s = row or (0.0, 1.0, 0.0)
    number = {name: counts.get(name, (0, 0.0))[0] for name in ("open", "parked", "capped", "done")}
    left = number["open"] + number["parked"] + number["capped"]
    drained_s = left_s = why = None
    if ends > starts:
        phase = Phase.ACTIVE
        why = "it gets new executions: it never drains before its share is 0"
    elif left:
        phase = Phase.DRAINING
        left_s, why = _left_s(number, left, ended_since, now_s - closed_s)
    else:
        phase = Phase.DRAINED
        drained_s = max(0.0, counts.get("done", (0, 0.0))[1] - closed_s)
    return Standing(version, ends - starts, phase, **number, drained_s=drained_s, left_s=left_s, why=why)


def _left_s(
    number: Mapping[str, int], left: int, ended_since: int, closed_for_s: float
) -> tuple[float | None, str | None]:
    """How long the rest will take, or why nobody knows."""
    held = [
        f"{number[name]:,} {what}"
        for name, what in (("parked", "parked for a person"), ("capped", "stopped by a cap"))
        if number[name]
    ]
    if held:
        return None, f"{', '.join(held)}: nobody knows for how long"
    if not ended_since or closed_for_s <= 0:
        return None, "none of its executions has ended since it was closed"
    return left * closed_for_s / ended_since, None


def _closed(before: Row | None, now_s: float) -> float:
    """Since when a version without a share has none."""
    if before is not None and before[1] == before[2]:
        return float(before[3])
    return now_s


def _checked(shares: Mapping[int, float]) -> None:
    wrong = [
        version for version, share in shares.items() if not 1 <= version <= MOST or not 0.0 <= share <= 1.0
    ]
    if wrong:
        what = f"version {wrong[0]} cannot have a share of {shares[wrong[0]]:g}"
        raise DurableError(None, what, f"number versions from 1 to {MOST:,} and give shares from 0 to 1")
    total = sum(shares.values())
    if abs(total - 1.0) > _CLOSE_TO_ONE:
        what = f"the shares of new executions add up to {total:g}"
        raise DurableError(None, what, "name every version that gets some, so that they add up to 1")
