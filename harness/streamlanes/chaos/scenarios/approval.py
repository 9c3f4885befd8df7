"""Scenario `approval`: agents that propose each effect to a person, who is told by the outbox.

The person works in the same processes, so decisions are cut short too. One step of each execution is
rejected; steps with an odd number have the policy that a resumed worker asks again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from streamlanes.chaos import controls
from streamlanes.chaos.place import Place
from streamlanes.chaos.plan import Control, Counts, Kill, Size
from streamlanes.chaos.scenarios.base import Left, Played, beyond, names, task
from streamlanes.chaos.scenarios.steps import create, done, expected_total, rows_lost, states
from streamlanes.chaos.workers.approval import REJECTED, wants_a_new_approval
from streamlanes.durable.database import Database
from streamlanes.durable.people import People, Request
from streamlanes.durable.points import Point


class Approval:
    """See Played."""

    points = (
        Point.BEFORE_PARK,
        Point.AFTER_PARK,
        Point.AFTER_DECISION,
        Point.BEFORE_EFFECT,
        Point.AFTER_EFFECT,
        Point.BEFORE_CHECKPOINT,
        Point.AFTER_SEND,
        Point.IN_COMMIT,
        Point.AFTER_COMMIT,
    )

    def lay(self, database: Database, kill: Kill, size: Size) -> None:
        create(database, names(kill, size))

    def tasks(self, kill: Kill, size: Size) -> Sequence[Mapping[str, object]]:
        return [task("approval", kill, size)]

    def counts(self, kill: Kill, size: Size, left: Left) -> Counts:
        mine = names(kill, size)
        asked = {name: People(left.database).of(name) for name in mine}
        finished = done(left, mine)
        return counted(size, states(left.database, mine), asked, finished, left.ledger, left.begun())

    def controls(self, at: Place) -> Sequence[Control]:
        return [in_memory(at)]


APPROVAL: Played = Approval()


def counted(
    size: Size,
    kept: Mapping[str, Sequence[Mapping[str, Any]]],
    asked: Mapping[str, Sequence[Request]],
    finished: Sequence[str],
    ledger: Mapping[str, int],
    begun: Sequence[tuple[str, int]],
) -> Counts:
    """What a trial came to. asked: the requests of each execution. For the rest see steps.counted."""
    approved = [f"{name}/{step}" for name in kept for step in range(size.steps) if step != REJECTED]
    totals = [(expected_total(step + 1), step != REJECTED) for step in range(size.steps)]
    complete = {
        name
        for name, rows in kept.items()
        if [(row.get("total"), row.get("approved")) for row in rows] == totals
        and all(ledger.get(f"{name}/{step}", 0) for step in range(size.steps) if step != REJECTED)
    }
    tells = [f"ask {name}/{step}" for name in kept for step in range(size.steps)]
    return Counts(
        lost=rows_lost(size, list(kept), kept) + sum(not ledger.get(ref, 0) for ref in approved + tells),
        duplicated=sum(max(0, ledger.get(ref, 0) - 1) for ref in approved),
        redone=redone(asked, begun),
        false_done=len(set(finished) - complete),
        unfinished=len(set(kept) - set(finished)),
        asked_again=sum(asked_again(name, size, asked[name], ledger) for name in kept),
        unapproved=sum(ledger.get(f"{name}/{REJECTED}", 0) for name in kept),
    )


def redone(asked: Mapping[str, Sequence[Request]], begun: Sequence[tuple[str, int]]) -> int:
    """Steps that were begun again, beyond the once that each answer to a request asks for."""
    rounds = Counter((name, _step(each)) for name, requests in asked.items() for each in requests)
    return sum(max(0, times - 1 - rounds[step]) for step, times in Counter(begun).items())


def asked_again(name: str, size: Size, requests: Sequence[Request], ledger: Mapping[str, int]) -> int:
    """How often a person was asked beyond the first time: by the store's requests and by what reached
    them, whichever is more. Steps whose policy wants it do not count."""
    again = 0
    for step in range(size.steps):
        if not wants_a_new_approval(step):
            rounds = sum(_step(each) == step for each in requests)
            again += max(0, max(rounds, ledger.get(f"ask {name}/{step}", 0)) - 1)
    return again


def in_memory(at: Place) -> Control:
    """Approvals that only the worker knows: killed after the third, all are asked again."""
    begun = controls.live(at, "asks", controls.strike(Point.AFTER_DECISION)) + controls.live(at, "asks", None)
    ledger = at.receiver.ledger("naive")
    counts = Counts(
        duplicated=beyond(ledger, "asks/"),
        redone=len(begun) - len(set(begun)),
        asked_again=beyond(ledger, "ask asks/"),
    )
    says = f"approvals kept in memory, killed after approval {controls.KILLED_AT} of {controls.STEPS}"
    return Control("approval-in-memory", says, ("asked_again",), counts)


def _step(asked: Request) -> int:
    return int(asked.place.split("/")[-2])
