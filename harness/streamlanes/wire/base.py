"""What a dialect is: where a call goes, what it says, and how its answer's events are folded."""

import enum
import json
from collections.abc import Callable
from dataclasses import dataclass
from json.scanner import make_scanner
from typing import Any, Protocol, cast

MAX_COUNT = 1 << 53
"""The largest count of tokens that is believed: what every reader of JSON can tell from its neighbour."""

_scan = make_scanner(cast(Any, json.JSONDecoder()))
"""What json.loads comes to in the end, without its guess of an encoding and two more calls."""


class ProtocolError(ValueError):
    """Bytes that the dialect does not allow."""


class Brought(enum.IntEnum):
    """What one event brought. An empty string is no token."""

    NOTHING = 0
    TEXT = 1
    REASONING = 2  # a token that the reader of the answer does not see


class Decoder(Protocol):
    """Bytes to events, whatever the dialect takes for one."""

    def feed(self, chunk: bytes) -> list[Any]: ...


class Fold:
    """What a stream has said so far, event by event.

    done: the dialect's own mark of the end was seen. finish_reason: why the model ended, or None.
    error: the provider's error object, or None. over: nothing more is to come, for one of the two
    marks was seen, end or error. usage_tokens: the provider's count of output tokens, the last one it
    said; None if it said none. It is the authority for totals: an event may bring several tokens.
    """

    __slots__ = ("done", "error", "finish_reason", "over", "usage_tokens")

    def __init__(self) -> None:
        self.done = False
        self.over = False
        self.finish_reason: str | None = None
        self.error: object | None = None
        self.usage_tokens: int | None = None

    @property
    def ended(self) -> bool:
        """Whether the model said that it had come to its end: without it no call is ok."""
        return self.done or self.finish_reason is not None

    def add(self, event: Any) -> Brought:
        """Take one event. Raises ProtocolError for one that is none of this dialect."""
        raise NotImplementedError

    def finish(self) -> None:
        """The mark of the end."""
        self.done = self.over = True

    def fail(self, error: object) -> None:
        """An error object in mid-stream."""
        self.error = error
        self.over = True

    def use(self, output_tokens: object) -> None:
        """A count of output tokens; what is no count changes nothing."""
        if type(output_tokens) is int and 0 <= output_tokens <= MAX_COUNT:
            self.usage_tokens = output_tokens


@dataclass(frozen=True)
class Dialect:
    """One way of speaking to a provider.

    path: of the request. request: a prompt -> the body that asks for a stream. decoder and fold: made
    once for each call; the fold takes what the decoder hands out.
    """

    path: str
    request: Callable[[str], bytes]
    decoder: Callable[[], Decoder]
    fold: Callable[[], Fold]


def parse(data: bytes) -> Any:
    """The JSON in an event's data. Raises ProtocolError."""
    try:
        text = data.decode()
        found, end = _scan(text, 0)
        if end == len(text):
            return found
    except (ValueError, StopIteration, RecursionError):
        pass
    try:
        return json.loads(data.decode())  # white space around it is allowed, and rare
    except (ValueError, RecursionError):
        raise no_event(data) from None


def no_event(data: bytes) -> ProtocolError:
    """The error for an event that is none of the dialect."""
    return ProtocolError(f"an event that is none of this dialect: {data[:80]!r}")
