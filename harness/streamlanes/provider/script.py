"""Answers that are put together one by one: what is written when, as a list that is made while it is sent.

First the events of a right answer, then what a fault makes of them, then the writes (`writes`). Pure; times
are nanoseconds after the request was seen.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.faults import STATUSES, Fault, strikes_before
from streamlanes.provider.frames import Frames, said
from streamlanes.provider.writes import Event, Gzip, Then, Write, response, writes

COMMENT = b": keep-alive\n\n"
SPLIT_TEXT = " crème 🦉 夜"
"""Characters of two, four and three bytes."""

_MESSAGES = {
    429: "Rate limit reached",
    500: "The server had an error while processing your request",
    503: "The engine is currently overloaded",
    529: "Overloaded",
}


@dataclass(frozen=True, kw_only=True)
class Call:
    """What an answer is made of. offsets_ns: when each token is due. gzip: whether the caller takes
    compressed answers."""

    call: int
    call_id: bytes
    frames: Frames
    prompt_tokens: int
    offsets_ns: Sequence[int]
    gzip: bool = False


def whole(call: Call, fault: Fault | None, behaviour: Behaviour) -> Iterator[Write]:
    """The answer to a request that wants no stream, due with its last token. Of the faults those count
    here that need no stream."""
    due_ns = call.offsets_ns[-1]
    if fault in STATUSES:
        yield _refused(call, fault, behaviour)
        return
    if fault is Fault.RESET:
        yield Write(due_ns, b"", then=Then.RESET)
        return
    if fault is Fault.SLOW_HEADERS:
        due_ns = max(due_ns, _ns(behaviour.slow_headers_ms))
    if fault is Fault.STALL:
        due_ns += _ns(behaviour.stall_ms)
    tokens = len(call.offsets_ns)
    text = said(call.call, 0, tokens)
    content = call.frames.whole(call.call_id, call.prompt_tokens, tokens, text)
    yield Write(due_ns, response(200, content), then=Then.END)


def stream(call: Call, fault: Fault | None, behaviour: Behaviour, *, apart: bool = False) -> Iterator[Write]:
    """A streamed answer. apart: nothing is joined into one write, so that a call can be held anywhere."""
    if fault in STATUSES:
        yield _refused(call, fault, behaviour)
        return
    size = behaviour.tokens_per_chunk
    events = -(-len(call.offsets_ns) // size)
    strike = strikes_before(behaviour.seed, call.call, events, behaviour.at)
    made = right(call, size)
    if fault in _MADE:
        made = _MADE[fault](made, call, behaviour, strike)
    gzip = Gzip() if fault is Fault.GZIP and call.gzip else None
    yield from writes(made, gzip, _THEN.get(fault, Then.END), apart=apart)


def right(call: Call, size: int) -> Iterator[Event]:
    """The events of an answer with nothing wrong, `size` tokens in each."""
    frames, offsets, tokens = call.frames, call.offsets_ns, len(call.offsets_ns)
    yield Event(offsets[min(size, tokens) - 1], frames.opening(call.call_id, call.prompt_tokens))
    for k in range(0, tokens, size):
        count = min(size, tokens - k)
        body = frames.text(call.call_id, said(call.call, k, count))
        yield Event(offsets[k + count - 1], body, count)
    yield Event(offsets[-1], frames.finish(call.call_id, call.prompt_tokens, tokens))
    yield Event(offsets[-1], frames.done())


def _refused(call: Call, fault: Fault, behaviour: Behaviour) -> Write:
    """At once: who refuses does not think."""
    status = STATUSES[fault]
    headers = []
    if fault is Fault.STATUS_429_RETRY_AFTER:
        headers = [f"Retry-After: {behaviour.retry_after_s:g}"]
    content = call.frames.refusal(status, _MESSAGES[status])
    return Write(0, response(status, content, *headers), then=Then.END)


# What a fault makes of the events


def _numbered(events: Iterable[Event]) -> Iterator[tuple[int | None, Event]]:
    """Each event with its place among those that bring text; None for the others."""
    place = 0
    for event in events:
        yield (place if event.tokens else None), event
        place += event.tokens > 0


def _until(events: Iterable[Event], strike: int, last: bytes) -> Iterator[Event]:
    """`last` in place of the struck event, and nothing after it."""
    for place, event in _numbered(events):
        if place == strike:
            yield Event(event.due_ns, last)
            return
        yield event


def _half(events: Iterable[Event], strike: int) -> Iterator[Event]:
    """Up to the middle of the struck event."""
    for place, event in _numbered(events):
        if place == strike:
            yield Event(event.due_ns, event.body[: len(event.body) // 2])
            return
        yield event


def _without_last(events: Iterable[Event]) -> Iterator[Event]:
    for event, _ in pairwise(events):
        yield event


def _slow(events: Iterable[Event], least_ns: int) -> Iterator[Event]:
    """Nothing before this time."""
    return (replace(event, due_ns=max(event.due_ns, least_ns)) for event in events)


def _stalled(events: Iterable[Event], strike: int, stall_ns: int) -> Iterator[Event]:
    """Later from the struck event on."""
    late_ns = 0
    for place, event in _numbered(events):
        if place == strike:
            late_ns = stall_ns
        yield replace(event, due_ns=event.due_ns + late_ns)


def _long(events: Iterable[Event], strike: int, call: Call, size: int) -> Iterator[Event]:
    """A long text in place of the struck event's."""
    for place, event in _numbered(events):
        yield replace(event, body=call.frames.text(call.call_id, "x" * size)) if place == strike else event


def _split(events: Iterable[Event], call: Call) -> Iterator[Event]:
    """Text of several bytes a character in place of each event's, cut inside one: the first part comes
    halfway since the event before."""
    body = call.frames.text(call.call_id, SPLIT_TEXT)
    cuts = [at for at in range(1, len(body)) if body[at] & 0xC0 == 0x80]  # before a continuation byte
    before_ns = 0
    for place, event in _numbered(events):
        if place is None:
            yield event
        else:
            cut = cuts[place % len(cuts)]
            yield Event((before_ns + event.due_ns) // 2, body[:cut])
            yield replace(event, body=body[cut:])
        before_ns = event.due_ns


def _crlf(events: Iterable[Event]) -> Iterator[Event]:
    held, due_ns = b"", 0
    for event in events:
        body = held + event.body.replace(b"\n", b"\r\n")
        held, due_ns = body[-1:], event.due_ns
        yield replace(event, body=body[:-1])
    yield Event(due_ns, held)


def _commented(events: Iterable[Event]) -> Iterator[Event]:
    before_ns = 0
    for event in events:
        yield Event((before_ns + event.due_ns) // 2, COMMENT)
        yield event
        before_ns = event.due_ns


_Change = Callable[[Iterator[Event], Call, Behaviour, int], Iterator[Event]]

_MADE: dict[Fault | None, _Change] = {
    Fault.ERROR: lambda events, call, how, strike: _until(events, strike, call.frames.error()),
    Fault.CUT_INSIDE: lambda events, call, how, strike: _half(events, strike),
    Fault.CUT_BETWEEN: lambda events, call, how, strike: _until(events, strike, b""),
    Fault.NO_DONE: lambda events, call, how, strike: _without_last(events),
    Fault.RESET: lambda events, call, how, strike: _until(events, strike, b""),
    Fault.SLOW_HEADERS: lambda events, call, how, strike: _slow(events, _ns(how.slow_headers_ms)),
    Fault.STALL: lambda events, call, how, strike: _stalled(events, strike, _ns(how.stall_ms)),
    Fault.LONG_LINE: lambda events, call, how, strike: _long(events, strike, call, how.long_line_bytes),
    Fault.SPLIT_CHARACTERS: lambda events, call, how, strike: _split(events, call),
    Fault.CRLF: lambda events, call, how, strike: _crlf(events),
    Fault.COMMENTS: lambda events, call, how, strike: _commented(events),
}
"""What is made of the events; those of other faults are right."""

_THEN: dict[Fault | None, Then] = {Fault.CUT_INSIDE: Then.CLOSE, Fault.RESET: Then.RESET}
"""How an answer ends that does not end well."""


def _ns(ms: float) -> int:
    return int(ms * 1e6)
