"""What a scenario must say of itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from streamlanes.chaos.place import Place
from streamlanes.chaos.plan import Control, Counts, Kill, Size
from streamlanes.durable.database import Database
from streamlanes.durable.points import Point

HEARTBEAT_PACE_S = 0.06
"""Work in a step where the point is a heartbeat: there must be time for one."""


@dataclass(frozen=True)
class Left:
    """What a trial left behind.

    ledger: how often each effect happened, from the receiver. words: all that any worker said.
    """

    database: Database
    ledger: Mapping[str, int]
    words: Sequence[Mapping[str, Any]]

    def said(self, event: str) -> list[Mapping[str, Any]]:
        """The words of one kind."""
        return [word for word in self.words if word["event"] == event]

    def begun(self) -> list[tuple[str, int]]:
        """Every step that any worker began."""
        return [(word["thread_id"], word["step"]) for word in self.said("step")]


class Played(Protocol):
    """A scenario."""

    @property
    def points(self) -> tuple[Point, ...]:
        """Where its workers are struck."""

    def lay(self, database: Database, kill: Kill, size: Size) -> None:
        """Put there what the workers are to carry out."""

    def tasks(self, kill: Kill, size: Size) -> Sequence[Mapping[str, object]]:
        """A worker process each. The first is struck, and its task done again by another; the others run
        beside it, unharmed."""

    def counts(self, kill: Kill, size: Size, left: Left) -> Counts:
        """What went wrong."""

    def controls(self, at: Place) -> Sequence[Control]:
        """Ways of working that must be found out; once a session."""


def task(mode: str, kill: Kill, size: Size, **more: object) -> dict[str, object]:
    """What every worker's task has."""
    return {
        "mode": mode,
        "owner": "worker",  # the same name for all: what tells them apart is the token
        "lease_s": size.lease_s,
        "steps": size.steps,
        "threads": size.executions,
        "pace_s": HEARTBEAT_PACE_S if kill.point is Point.IN_HEARTBEAT else size.pace_s,
        **more,
    }


def names(kill: Kill, size: Size) -> list[str]:
    """The executions of a trial."""
    return [f"k{kill.number}-e{number}" for number in range(size.executions)]


def beyond(ledger: Mapping[str, int], prefix: str = "") -> int:
    """How often an effect happened beyond the first time."""
    return sum(max(0, times - 1) for ref, times in ledger.items() if ref.startswith(prefix))
