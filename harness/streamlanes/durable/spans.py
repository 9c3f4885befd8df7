"""What an execution did, as spans: out of its tables, whoever wrote them. Read only.

Workflows have their times in their log. Executions with checkpoints, and agents of an AgentQueue, have
them where their worker was traced; else there are steps, versions, epochs and attempts, or wake-ups, and
their times are None.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamlanes.durable.database import Database
from streamlanes.durable.events import Event, Events, Kind, said
from streamlanes.durable.tracing import OK, PARKED, SpanKind

_EXECUTION = "SELECT status, owner, epoch FROM executions WHERE thread_id = :thread_id"
_AGENT = "SELECT stage, fault, wake FROM agents WHERE name = :thread_id"
_STEPS = "SELECT step, version, epoch FROM checkpoints WHERE thread_id = :thread_id{kept} ORDER BY step"
_SPANS = """SELECT kind, name, step, key, attempt, epoch, owner, version, began, took, outcome
FROM spans WHERE thread_id = :thread_id ORDER BY epoch, number"""
_ATTEMPTS = """SELECT a.key, f.name, a.attempt, a.status, f.epoch, a.prompt_tokens, a.output_tokens
FROM attempts a JOIN effects f ON f.key = a.key WHERE f.thread_id = :thread_id ORDER BY a.key, a.attempt"""

_ENDS = (Kind.COMPLETED, Kind.FAILED, Kind.GAVE_UP)

LOST = "WorkerLost"
"""Outcome of what was begun and has no end: its worker died, or was cut off, in it."""
KEPT = "kept"
"""Outcome of a step of which only its checkpoint tells."""


@dataclass(frozen=True)
class Span:
    """Something an execution did.

    name: the worker's for a claim, of the effect or the activity for an attempt. step: None where there
    is none. key: which effect or call an attempt is of. owner, version: None where nobody kept them.
    began_s: seconds since 1970. took_s: seconds; None where nobody kept it, where there was no end, or
    the clock was set back meanwhile. outcome: `ok`, `kept`, `WorkerLost`, or the class of an error.
    tokens: prompt and output tokens of an attempt; None where nobody knows them, or there were none.
    """

    kind: SpanKind
    name: str
    step: int | None
    key: str
    attempt: int
    epoch: int
    owner: str | None
    version: int | None
    began_s: float | None
    took_s: float | None
    outcome: str
    tokens: tuple[int, int] | None = None


@dataclass(frozen=True)
class Story:
    """One execution, or one agent of an AgentQueue.

    workflow: its name; None where it is no workflow. status: of an agent its stage, or parked. owner: who
    had it last. epochs: how often it was claimed; of an agent, its wake-ups. broke: class of the error that
    its workflow raised, each time. agent: whether it is one.
    """

    thread_id: str
    workflow: str | None
    status: str
    owner: str
    epochs: int
    spans: Sequence[Span]
    broke: Sequence[str] = ()
    agent: bool = False


def story(database: Database, thread_id: str) -> Story | None:
    """What the tables tell of an execution, or else of an agent of that name; None where there is none.
    Raises LogCut for a damaged log."""
    rows = database.read(_EXECUTION, {"thread_id": thread_id})
    if not rows:
        return _of_agent(database, thread_id)
    ((status, owner, epochs),) = rows
    events = Events(database).read(thread_id)
    spans = of_log(thread_id, events) if events else _of_tables(database, thread_id)
    name = next((event.name for event in events if event.kind is Kind.SESSION), None)
    broke = [_error(thread_id, event) for event in events if event.kind is Kind.BROKEN]
    return Story(thread_id, name, status, owner, epochs, spans, broke)


def _of_agent(database: Database, name: str) -> Story | None:
    """An agent, and its wake-ups: those that were traced, and those that ended and nobody traced."""
    rows = database.read(_AGENT, {"thread_id": name})
    if not rows:
        return None
    ((stage, fault, wakes),) = rows
    ended = wakes if stage == "idle" else wakes - 1
    spans = _of_tables(database, name)
    traced = {span.step for span in spans if span.kind is SpanKind.STEP and span.outcome == OK}
    bare = [
        Span(SpanKind.STEP, "wake-up", number, "", 0, number, None, None, None, None, KEPT)
        for number in range(1, ended + 1)
        if number not in traced
    ]
    owner = next((span.owner for span in reversed(spans) if span.owner is not None), "")
    return Story(name, None, PARKED if fault else stage, owner, wakes, spans + bare, agent=True)


@dataclass(slots=True)
class _Begun:
    """An attempt's beginning in a log."""

    event: Event
    number: int
    over: bool = False


def of_log(thread_id: str, events: Sequence[Event]) -> list[Span]:
    """Claims, and attempts of activities, in the order in which they ended."""
    spans: list[Span] = []
    owners: dict[int, tuple[str, int]] = {}
    begun: dict[str, _Begun] = {}
    for event in events:
        if event.kind is Kind.SESSION:
            told = said(thread_id, event)
            owners[event.epoch] = (str(told.get("owner")), int(told.get("version", 0)))
            spans.append(_span(SpanKind.CLAIM, owners[event.epoch][0], 0, event, owners, event.at_s, OK))
        elif event.kind is Kind.SCHEDULED:
            begun[event.call] = _Begun(event, 1)
        elif event.kind is Kind.AGAIN and event.call in begun:
            before = begun[event.call]
            if not before.over:
                spans.append(_attempt(before, owners, None, LOST))
            begun[event.call] = _Begun(event, before.number + 1)
        elif event.kind in _ENDS and event.call in begun:
            outcome = OK if event.kind is Kind.COMPLETED else _error(thread_id, event)
            spans.append(_attempt(begun[event.call], owners, event.at_s, outcome))
            begun[event.call].over = True
    return spans + [_attempt(each, owners, None, LOST) for each in begun.values() if not each.over]


def _error(thread_id: str, event: Event) -> str:
    """The class of the error that an event tells of."""
    return str(said(thread_id, event).get("error"))


def _attempt(
    begun: _Begun, owners: Mapping[int, tuple[str, int]], ended_s: float | None, outcome: str
) -> Span:
    return _span(SpanKind.ATTEMPT, begun.event.name, begun.number, begun.event, owners, ended_s, outcome)


def _span(
    kind: SpanKind,
    name: str,
    attempt: int,
    begun: Event,
    owners: Mapping[int, tuple[str, int]],
    ended_s: float | None,
    outcome: str,
) -> Span:
    owner, version = owners.get(begun.epoch, (None, None))
    took_s = None if ended_s is None or ended_s < begun.at_s else ended_s - begun.at_s
    return Span(
        kind, name, None, begun.call, attempt, begun.epoch, owner, version, begun.at_s, took_s, outcome
    )


def _of_tables(database: Database, thread_id: str) -> list[Span]:
    """What was traced, and what only checkpoints and attempts tell."""
    key = {"thread_id": thread_id}
    attempts = database.read(_ATTEMPTS, key)
    tokens = {(row[0], row[2]): (int(row[5]), int(row[6])) for row in attempts if row[5] or row[6]}
    traced = []
    for kind, name, step, effect, attempt, *rest in database.read(_SPANS, key):
        epoch, owner, version, began_s, took_s, outcome = rest
        which = (SpanKind(kind), name, step if step >= 0 else None, effect, attempt, epoch, owner)
        used = tokens.get((effect, attempt))
        traced.append(Span(*which, version, began_s, took_s, outcome, used))
    owners = {span.epoch: span.owner for span in traced}
    there = {(span.step, span.epoch) for span in traced if span.outcome == OK}
    tried = {(span.key, span.attempt) for span in traced if span.kind is SpanKind.ATTEMPT}
    bare = [
        Span(SpanKind.STEP, "", step, "", 0, epoch, owners.get(epoch), version, None, None, KEPT)
        for step, version, epoch in database.read(_STEPS, key)
        if (step, epoch) not in there
    ]
    for effect, name, attempt, status, epoch, _, _ in attempts:
        if (effect, attempt) not in tried:
            outcome = str({"done": OK, "begun": LOST}.get(status, status))
            used = tokens.get((effect, attempt))
            who = owners.get(epoch)
            bare.append(
                Span(
                    SpanKind.ATTEMPT, name, None, effect, attempt, epoch, who, None, None, None, outcome, used
                )
            )
    return traced + bare
