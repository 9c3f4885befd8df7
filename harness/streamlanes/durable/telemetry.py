"""Spans as OpenTelemetry's JSON Lines: a line is a `TracesData` object with one span in it, as its file
exporter defines them, so that a collector can read the file. Pure.

Names of attributes are those of the semantic conventions for generative AI (agent spans), which are
still in development there: an execution is `invoke_agent` or `invoke_workflow`, an attempt of an effect
or activity `execute_tool`. What the conventions have no name for begins with `streamlanes.`. A span
needs a begin and an end: what has none is left out, and counted.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from streamlanes.durable.spans import Span, Story
from streamlanes.durable.tracing import OK, PARKED, SpanKind

SCOPE = "streamlanes.durable"
_INTERNAL, _ERROR = 1, 2


Attribute = str | int


@dataclass(frozen=True)
class Lines:
    """The lines of a trace. left_out: spans whose times nobody kept."""

    lines: Sequence[str]
    left_out: int


def span_lines(story: Story) -> Lines:
    """An execution's spans under one that reaches from their first begin to their last end."""
    timed = [span for span in story.spans if span.began_s is not None]
    ends = {place: _end_s(place, timed) for place in range(len(timed))}
    steps = {
        span.step: _id(story, f"{place}")
        for place, span in enumerate(timed)
        if span.kind is SpanKind.STEP and span.outcome == OK
    }
    lines = []
    if timed:
        begin_s = min(span.began_s for span in timed if span.began_s is not None)
        lines.append(_line(story, _root(story, begin_s, max(ends.values()))))
    for place, span in enumerate(timed):
        parent = steps.get(_step_of(span), _id(story, "root")) if span.kind is SpanKind.ATTEMPT else None
        lines.append(_line(story, _one(story, span, place, ends[place], parent)))
    return Lines(lines, len(story.spans) - len(timed))


def _end_s(place: int, timed: Sequence[Span]) -> float:
    """When a span ended; for one whose worker was lost, when the execution was next heard of."""
    span = timed[place]
    assert span.began_s is not None
    if span.took_s is not None:
        return span.began_s + span.took_s
    later = (each.began_s for each in timed if each.epoch > span.epoch and each.began_s is not None)
    return max(span.began_s, min(later, default=span.began_s))


def _root(story: Story, begin_s: float, end_s: float) -> dict[str, object]:
    operation = "invoke_workflow" if story.workflow else "invoke_agent"
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": operation,
        "gen_ai.conversation.id": story.thread_id,
        "streamlanes.status": story.status,
        "streamlanes.claims": story.epochs,
    }
    if story.workflow:
        attributes["gen_ai.workflow.name"] = story.workflow
    else:
        attributes["gen_ai.agent.id"] = story.thread_id
    versions = {span.version for span in story.spans if span.version is not None}
    if len(versions) == 1:
        attributes["gen_ai.agent.version"] = str(versions.pop())
    for side, name in enumerate(("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")):
        said = [span.tokens[side] for span in story.spans if span.tokens is not None]
        if said:
            attributes[name] = sum(said)
    named = f"{operation} {story.workflow}" if story.workflow else operation
    return _fields(story, "root", None, named, (begin_s, end_s), attributes, None)


def _one(story: Story, span: Span, place: int, end_s: float, parent: str | None) -> dict[str, object]:
    attributes: dict[str, Attribute] = {"streamlanes.epoch": span.epoch}
    if span.owner is not None:
        attributes["streamlanes.owner"] = span.owner
    if span.version is not None:
        attributes["streamlanes.version"] = span.version
    name = str(span.kind)
    if span.kind is SpanKind.ATTEMPT:
        name = f"execute_tool {span.name}"
        attributes |= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": span.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": span.key,
            "streamlanes.attempt": span.attempt,
        }
    elif span.kind is SpanKind.STEP and span.step is not None:
        name = f"{span.name or 'step'} {span.step}"
        attributes["streamlanes.step"] = span.step
    if span.tokens is not None:
        attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"] = span.tokens
    error = None if span.outcome in {OK, PARKED} else span.outcome
    if error is not None:
        attributes["error.type"] = error
    assert span.began_s is not None
    above = parent or _id(story, "root")
    return _fields(story, str(place), above, name, (span.began_s, end_s), attributes, error)


def _fields(
    story: Story,
    place: str,
    parent: str | None,
    name: str,
    times_s: tuple[float, float],
    attributes: dict[str, Attribute],
    error: str | None,
) -> dict[str, object]:
    begin_s, end_s = times_s
    fields: dict[str, object] = {
        "traceId": hashlib.sha256(story.thread_id.encode()).hexdigest()[:32],
        "spanId": _id(story, place),
        "name": name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(round(begin_s * 1e9)),
        "endTimeUnixNano": str(round(end_s * 1e9)),
        "attributes": [{"key": key, "value": _value(value)} for key, value in attributes.items()],
        "status": {} if error is None else {"code": _ERROR, "message": error},
    }
    return fields if parent is None else {**fields, "parentSpanId": parent}


def _line(story: Story, span: dict[str, object]) -> str:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "streamlanes"}}]}
    scopes = [{"scope": {"name": SCOPE}, "spans": [span]}]
    whole = {"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def _value(value: Attribute) -> dict[str, object]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def _id(story: Story, place: str) -> str:
    """The same whenever the same execution is shown again."""
    return hashlib.sha256(f"{story.thread_id}\0{place}".encode()).hexdigest()[:16]


def _step_of(span: Span) -> int | None:
    """The step that an effect's key names; None for an activity's call, which is in no step."""
    parts = span.key.rsplit("/", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else None
