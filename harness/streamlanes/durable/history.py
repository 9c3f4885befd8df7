"""A log held against the code that is carried out: what it asks for must be what it asked for. Pure.

Every call of a workflow has a name of its own that comes from its place in the code and not from when
it happened: its branch (the workflow itself, or a task within it) and its number there. So activities
that ran at once, and ended in any order, are found again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from streamlanes.durable.errors import Diverged, DurableError
from streamlanes.durable.events import Event, Kind

SHOWN = 120
"""Characters that an error shows of a side."""
_REMEDY = "run the version of the workflow that wrote the log, or begin a new execution"
_ENDS = (Kind.COMPLETED, Kind.GAVE_UP)


@dataclass(slots=True)
class Known:
    """What a log holds of one call.

    data: input of an activity, value of a reading; JSON. end: how the activity ended, None while it has
    not. begun, failed: attempts that began, and that failed; one that did neither fail nor end was cut
    off with its worker.
    """

    kind: Kind
    name: str
    data: str
    end: Event | None = None
    begun: int = 0
    failed: int = 0
    asked: bool = False


class History:
    """One log, and how far the code has come through it.

    first: the event that began it, None for an empty log. ended: the one that ended it.
    """

    def __init__(self, thread_id: str, events: Sequence[Event]) -> None:
        self.thread_id = thread_id
        self.length = len(events)
        self.first = next((event for event in events if event.kind is Kind.SESSION), None)
        self.ended = events[-1] if events and events[-1].kind is Kind.ENDED else None
        self.calls: dict[str, Known] = {}
        for event in events:
            if event.call:
                self._add(event)
        self._unasked = len(self.calls)

    def ask(self, call: str, kind: Kind, name: str, data: str | None) -> Known | None:
        """What the log holds of a call; None where the code is beyond its end.

        data: the input that the code has now; None for a reading, which has none. Raises Diverged where
        the log holds something else.
        """
        known = self.calls.get(call)
        if known is None:
            if self.ended is not None:
                raise self._diverged(call, "its end", shown(kind, name, data))
            return None
        if (known.kind, known.name) != (kind, name) or (data is not None and known.data != data):
            raise self._diverged(call, *_sides(known, kind, name, data))
        if not known.asked:
            known.asked = True
            self._unasked -= 1
        if self.ended is not None and kind is Kind.SCHEDULED and known.end is None:
            raise self._diverged(call, f"{shown(kind, name, data)} without an end", "its result")
        return known

    def finish(self, result: str) -> None:
        """Hold the end of the code against the log. Raises Diverged where the log goes on, or ended
        otherwise."""
        if self._unasked:
            call, known = next((call, known) for call, known in self.calls.items() if not known.asked)
            raise self._diverged(call, shown(known.kind, known.name, known.data), "nothing: it ended")
        if self.ended is not None and self.ended.data != result:
            logged, asked = _apart(self.ended.data, result)
            raise self._diverged("the end", f"the result {logged}", f"the result {asked}")

    def _add(self, event: Event) -> None:
        if event.kind in {Kind.SCHEDULED, Kind.RECORDED}:
            begun = int(event.kind is Kind.SCHEDULED)
            self.calls[event.call] = Known(event.kind, event.name, event.data, begun=begun)
            return
        known = self.calls.get(event.call)
        if known is None:
            remedy = "restore the store from a copy"
            what = f"event {event.number} of its log belongs to no call"
            raise DurableError(self.thread_id, what, remedy)
        if event.kind is Kind.AGAIN:
            known.begun += 1
        elif event.kind is Kind.FAILED:
            known.failed += 1
        elif event.kind in _ENDS:
            known.failed += event.kind is Kind.GAVE_UP
            known.end = event

    def _diverged(self, call: str, logged: str, asked: str) -> Diverged:
        at = f"call {call}" if "/" in call else call
        return Diverged(self.thread_id, f"at {at} the log has {logged}, the code asks for {asked}", _REMEDY)


def shown(kind: Kind, name: str, data: str | None) -> str:
    """A call as an error names it."""
    if kind is Kind.RECORDED:
        return f"{name}()"
    return f"activity {name} with {_short(data or '')}"


def _sides(known: Known, kind: Kind, name: str, data: str | None) -> tuple[str, str]:
    """Both sides of a divergence; where only the inputs differ, the part in which they do."""
    if (known.kind, known.name) == (kind, name) and data is not None:
        logged, asked = _apart(known.data, data)
        return f"activity {name} with {logged}", f"activity {name} with {asked}"
    return shown(known.kind, known.name, known.data), shown(kind, name, data)


def _apart(one: str, other: str) -> tuple[str, str]:
    """Two texts, from shortly before the place where they part."""
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    at = min(len(one), len(other)) if same is None else same
    begin = at - SHOWN // 2 if at > SHOWN // 2 else 0
    return _short(one[begin:], begin > 0), _short(other[begin:], begin > 0)


def _short(text: str, cut_before: bool = False) -> str:
    text = f"...{text}" if cut_before else text
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
