"""What spans come to: latencies by step and activity, retries, failures by class; and whether the rows of
an execution can be what its workers did. Read only."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from streamlanes.durable.database import Database, Row
from streamlanes.durable.errors import LogCut
from streamlanes.durable.spans import KEPT, LOST, Span, Story, story
from streamlanes.durable.tracing import OK, PARKED, SpanKind

BOUNDS_MS: tuple[int, ...] = tuple(1 << power for power in range(17))
"""Upper bounds of a histogram's buckets, 1 ms to 65 s; one more bucket holds what took longer."""

_ALL = """SELECT thread_id FROM executions WHERE status <> 'lock'
UNION SELECT thread_id FROM spans ORDER BY thread_id"""
_STEPS = "SELECT step, epoch, version FROM checkpoints WHERE thread_id = :thread_id{kept} ORDER BY step"
_EVENTS = "SELECT number, epoch FROM events WHERE thread_id = :thread_id ORDER BY number"
_DOUBT = """SELECT count(*) FROM effects WHERE thread_id = :thread_id AND status = 'claimed'"""
_CLAIMS = "SELECT epoch FROM executions WHERE thread_id = :thread_id"


@dataclass
class Latency:
    """What is known of all spans of one step, effect or activity.

    spans: how many there were. untimed: those whose length nobody kept. retries: attempts beyond the
    first. lost: those whose worker died in them. failures: by class of error. buckets: how many took at
    most each of BOUNDS_MS, and no less than the one before; the last: longer.
    """

    name: str
    spans: int = 0
    untimed: int = 0
    retries: int = 0
    lost: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_MS) + 1))

    def add(self, span: Span) -> None:
        """Count a span."""
        self.spans += 1
        self.retries += span.attempt > 1
        if span.outcome == LOST:
            self.lost += 1
        elif span.outcome not in {OK, KEPT, PARKED}:
            self.failures[span.outcome] += 1
        if span.took_s is None:
            self.untimed += 1
        else:
            took_ms = span.took_s * 1000
            at = next((i for i, bound in enumerate(BOUNDS_MS) if took_ms <= bound), len(BOUNDS_MS))
            self.buckets[at] += 1


@dataclass(frozen=True)
class Audit:
    """One execution, looked through.

    steps: super-steps that are kept, None for a workflow or an agent. claims: how often it was taken up.
    redone: steps and attempts that were begun again. versions: of the runtime or the workflow, those that
    wrote.
    in_doubt: effects of which nobody knows whether they happened. problems: what cannot be, a line each.
    """

    thread_id: str
    workflow: str | None
    status: str
    steps: int | None
    claims: int
    redone: int
    versions: Sequence[int]
    in_doubt: int
    problems: Sequence[str]


def latencies(spans: Iterable[Span]) -> Mapping[str, Latency]:
    """Spans by what they are of: `step N`, `wake-up`, or the name of an effect or activity."""
    found: dict[str, Latency] = {}
    for span in spans:
        if span.kind is not SpanKind.CLAIM:
            name = span.name or f"step {span.step}"
            found.setdefault(name, Latency(name)).add(span)
    return found


def executions(database: Database) -> list[str]:
    """All executions of a store, and its agents that were traced."""
    return [thread_id for (thread_id,) in database.read(_ALL, {})]


def audit(database: Database, thread_id: str) -> tuple[Audit, Sequence[Span]] | None:
    """The audit of an execution or an agent, and its spans; None where there is none."""
    try:
        found = story(database, thread_id)
    except LogCut as error:
        return Audit(thread_id, None, "unknown", None, 0, 0, (), 0, (str(error),)), ()
    if found is None:
        return None
    key = {"thread_id": thread_id}
    ((in_doubt,),) = database.read(_DOUBT, key)
    stepped = not (found.workflow or found.agent)
    rows = list(database.read(_STEPS, key)) if stepped else []
    kept = database.read(_EVENTS, key) if found.workflow else [(step, epoch) for step, epoch, _ in rows]
    # The last, for a worker may be at it meanwhile. An agent has no row of an execution.
    claims = next((epoch for (epoch,) in database.read(_CLAIMS, key)), found.epochs)
    wrote = {version for _, _, version in rows} | {
        span.version for span in found.spans if span.version is not None
    }
    return Audit(
        thread_id,
        found.workflow,
        found.status,
        len(rows) if stepped else None,
        claims,
        _redone(found.spans),
        sorted(wrote),
        in_doubt,
        tuple(problems(found, kept, claims, in_doubt)),
    ), found.spans


def problems(found: Story, kept: Sequence[Row], claims: int, in_doubt: int) -> list[str]:
    """What cannot be. kept: number and epoch of each step, or of each event of a workflow, in order. That
    events are all there, to the end of what is done, is seen when they are read (LogCut)."""
    said = []
    what = "event" if found.workflow else "step"
    for (before, old), (number, epoch) in pairwise(kept):
        if number != before + 1:
            said.append(f"{what}s {before + 1} to {number - 1} are missing")
        if epoch < old:
            said.append(f"{what} {number} was written under claim {epoch}, after one under claim {old}")
    if kept and kept[-1][1] > claims:
        said.append(f"{what} {kept[-1][0]} is of claim {kept[-1][1]}, there were {claims}")
    if found.status == "done" and not kept:
        said.append("it is done and nothing is kept of it")
    if found.status == "done" and in_doubt:
        said.append(f"it is done and {in_doubt} effects have no answer")
    return said


def _redone(spans: Sequence[Span]) -> int:
    """Steps that were begun more than once, and attempts beyond the first, each time. A step that asked a
    person is repeated because it was answered, and does not count."""
    done = [span for span in spans if span.outcome != PARKED]
    steps = Counter(span.step for span in done if span.kind is SpanKind.STEP)
    attempts = sum(span.attempt > 1 for span in spans if span.kind is SpanKind.ATTEMPT)
    return sum(times - 1 for times in steps.values()) + attempts
