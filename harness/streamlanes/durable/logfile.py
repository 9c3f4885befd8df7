"""A log as JSON Lines: a head that says whose events follow and what all adds up to, then an event a line.

So a file that was cut or changed, anywhere, is told from a whole one, and nothing of it is taken.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streamlanes.durable.errors import DurableError, LogCut, NewerVersion
from streamlanes.durable.events import Event, Kind
from streamlanes.durable.values import MOST, named

SCHEMA = "streamlanes.log/2"
WITHOUT_VERSION = "streamlanes.log/1"
"""Its head named no runtime version and was not in the sum: where such a log may go on, it does not say."""
MOST_CHARACTERS = 16_000_000
"""No line is that long."""
_REMEDY = "export it again; nothing was taken"


@dataclass(frozen=True)
class Exported:
    """A whole log, out of its store. version: the runtime that its execution stays on."""

    thread_id: str
    version: int
    events: Sequence[Event]


def export_lines(log: Exported) -> Iterator[str]:
    """The lines of a log, each with its line end."""
    lines = [_line(_as_object(event)) for event in log.events]
    head = {"schema": SCHEMA, "thread_id": log.thread_id, "version": log.version, "events": len(lines)}
    yield _line({**head, "sha256": _digest(head, lines)})
    yield from lines


def import_lines(lines: Iterable[str]) -> Exported:
    """A log out of its lines. Raises LogCut where it is not whole or was changed, NewerVersion for a
    schema of a newer version, DurableError for one that says too little."""
    rest = iter(lines)
    head = _head(next(rest, ""))
    thread_id, wanted = str(head["thread_id"]), int(head["events"])
    kept: list[str] = []
    events: list[Event] = []
    for line in rest:
        if len(events) == wanted:
            raise _cut(thread_id, f"it goes on after its {wanted} events")
        event = _event(line, len(events) + 1)
        if event is None:
            raise _cut(thread_id, f"it is cut at line {len(events) + 2}: {len(events)} of {wanted} events")
        kept.append(line)
        events.append(event)
    if len(events) < wanted:
        raise _cut(thread_id, f"it is cut after line {len(events) + 1}: {len(events)} of {wanted} events")
    if _digest({name: value for name, value in head.items() if name != "sha256"}, kept) != head["sha256"]:
        raise _cut(thread_id, "its head or its events are not those that were exported")
    return Exported(thread_id, int(head["version"]), events)


def _head(line: str) -> dict[str, Any]:
    found = _object(line)
    schema = found.get("schema") if found else None
    if found is None or not isinstance(schema, str) or not schema.startswith("streamlanes.log/"):
        raise LogCut(None, "the file does not begin like an exported log", "name a file that `export` wrote")
    if schema == WITHOUT_VERSION:
        what = f"a log of schema {schema!r} does not say which runtime version it stays on"
        raise DurableError(None, what, _REMEDY)
    if schema != SCHEMA:
        what = f"the log is of schema {schema[:40]!r}, this reads {SCHEMA}"
        raise NewerVersion(None, what, "read it with the version that wrote it")
    kinds = {"thread_id": str, "version": int, "events": int, "sha256": str}
    whole = all(isinstance(found.get(name), kind) for name, kind in kinds.items())
    if not whole or not 1 <= found["version"] <= MOST:
        raise LogCut(None, "the head of the log is not whole", _REMEDY)
    named(str(found["thread_id"]))
    return found


def _as_object(event: Event) -> dict[str, object]:
    return {
        "number": event.number,
        "call": event.call,
        "kind": event.kind.value,
        "name": event.name,
        "data": event.data,
        "at_s": event.at_s,
        "epoch": event.epoch,
    }


def _event(line: str, number: int) -> Event | None:
    """An event; None for a line that is none, or not the one with this number."""
    found = _object(line) if line.endswith("\n") else None
    try:
        assert found is not None
        event = Event(
            int(found["number"]),
            str(found["call"]),
            Kind(found["kind"]),
            str(found["name"]),
            str(found["data"]),
            float(found["at_s"]),
            int(found["epoch"]),
        )
        f"{event.call}{event.name}{event.data}".encode()  # half a character is a ValueError
    except (AssertionError, KeyError, TypeError, ValueError, OverflowError):
        return None
    can_be = event.number == number and 0 <= event.epoch <= MOST and math.isfinite(event.at_s)
    return event if can_be else None


def _object(line: str) -> dict[str, Any] | None:
    if len(line) >= MOST_CHARACTERS:
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _digest(head: dict[str, Any], lines: Sequence[str]) -> str:
    """Of the head without its sum, and of the events."""
    whole = hashlib.sha256(_line(head).encode())
    for line in lines:
        whole.update(line.encode())
    return whole.hexdigest()


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n"


def _cut(thread_id: str, what: str) -> LogCut:
    return LogCut(thread_id, f"its log is not whole: {what}", _REMEDY)
