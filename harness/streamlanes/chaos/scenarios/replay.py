"""Scenario `replay`: workflows of readings and activities, over their logs."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from streamlanes.chaos import controls
from streamlanes.chaos.place import Place
from streamlanes.chaos.plan import Control, Counts, Kill, Size
from streamlanes.chaos.scenarios.base import Left, Played, beyond, names, task
from streamlanes.chaos.scenarios.steps import create, done
from streamlanes.durable.database import Database
from streamlanes.durable.errors import LogCut
from streamlanes.durable.events import Event, Events, Kind
from streamlanes.durable.points import Point


class Replay:
    """See Played."""

    points = (
        Point.BEFORE_EFFECT,
        Point.AFTER_EFFECT,
        Point.BEFORE_CHECKPOINT,
        Point.AFTER_CHECKPOINT,
        Point.IN_HEARTBEAT,
        Point.IN_COMMIT,
        Point.AFTER_COMMIT,
    )

    def lay(self, database: Database, kill: Kill, size: Size) -> None:
        create(database, names(kill, size))

    def tasks(self, kill: Kill, size: Size) -> Sequence[Mapping[str, object]]:
        return [task("replay", kill, size, names=names(kill, size))]

    def counts(self, kill: Kill, size: Size, left: Left) -> Counts:
        mine = names(kill, size)
        logs = {name: _log(left.database, name) for name in mine}
        return counted(size, logs, done(left, mine), left.ledger, left.begun())

    def controls(self, at: Place) -> Sequence[Control]:

        return [controls.naive_retry(at)]


REPLAY: Played = Replay()


def _log(database: Database, name: str) -> list[Event]:
    """A log; empty where it has a hole, so that all of it counts as lost."""
    try:
        return Events(database).read(name)
    except LogCut:
        return []


def counted(
    size: Size,
    logs: Mapping[str, Sequence[Event]],
    finished: Sequence[str],
    ledger: Mapping[str, int],
    begun: Sequence[tuple[str, int]],
) -> Counts:
    """What a trial came to. An output that is in the log twice, or whose sessions are mixed in it, counts
    as done twice; a log whose result is not what its activities gave, as falsely done."""
    refs = [f"{name}/{step}" for name in logs for step in range(size.steps)]
    outputs = {name: [event for event in log if event.kind is Kind.COMPLETED] for name, log in logs.items()}
    complete = {name for name, log in logs.items() if whole(log, size.steps)}
    return Counts(
        lost=sum(max(0, size.steps - len(found)) for found in outputs.values())
        + sum(not ledger.get(ref, 0) for ref in refs),
        duplicated=beyond(ledger)
        + sum(len(found) - len({event.call for event in found}) for found in outputs.values())
        + sum(mixed(log) for log in logs.values()),
        redone=len(begun) - len(set(begun)),
        false_done=len(set(finished) - complete),
        unfinished=len(set(logs) - set(finished)),
    )


def whole(log: Sequence[Event], steps: int) -> bool:
    """Whether a log's result is what its readings and activities gave, each once."""
    if not log or log[-1].kind is not Kind.ENDED:
        return False
    stamps: list[Any] = [json.loads(event.data) for event in log if event.kind is Kind.RECORDED]
    answers: list[Any] = [json.loads(event.data) for event in log if event.kind is Kind.COMPLETED]
    made = [list(pair) for pair in zip(stamps, answers, strict=False)]
    return bool(json.loads(log[-1].data) == made) and len(stamps) == len(answers) == steps


def mixed(log: Sequence[Event]) -> int:
    """Events of an earlier session after one of a later one."""
    return sum(later.epoch < event.epoch for event, later in pairwise(log))
