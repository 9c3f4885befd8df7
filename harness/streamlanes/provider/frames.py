"""What every dialect's bytes are made of: the words, a call's id, the HTTP around an event stream.

A dialect (`chat`, `messages`) says the same in two layers. `first`, `token` and `last` are whole pieces of
an HTTP message, rendered beforehand as far as they can be: the path of every call that nothing is wrong
with. `opening`, `text`, `finish`, `done` and `error` are the bare events, for answers that are put together
one by one (`script`).
"""

import json
from collections.abc import Sequence
from typing import Any, Protocol

MODEL = "sim"
CREATED = 1_700_000_000
"""When every answer says that it was made: a simulated model has no history."""

WORDS = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an "
    "they which one you were all her she there would their we him been has when who will no more if out so "
    "up said what its about than into them can only other time new some could these two may first then do"
).split()
"""What a simulated model says: word k of a call is WORDS[(call + k) % len(WORDS)]."""

_ID_DIGITS = 10
MARK = "#" * _ID_DIGITS
"""Where a call's id goes in what is rendered beforehand."""


class Frames(Protocol):
    """One dialect's bytes for one way of asking.

    tokens: the frame of each of WORDS, cut where the call's id goes (see `token`).
    """

    tokens: Sequence[tuple[bytes, ...]]

    def first(self, call_id: bytes, prompt_tokens: int) -> bytes:
        """What stands before the first token, in the same write: response head and opening events."""
        ...

    def last(self, call_id: bytes, prompt_tokens: int, tokens: int) -> bytes:
        """What stands after the last token, in the same write, to the end of the message."""
        ...

    def opening(self, call_id: bytes, prompt_tokens: int) -> bytes: ...
    def text(self, call_id: bytes, text: str) -> bytes: ...
    def finish(self, call_id: bytes, prompt_tokens: int, tokens: int) -> bytes:
        """The model's own end and the count of tokens."""
        ...

    def done(self) -> bytes:
        """The dialect's word that nothing follows."""
        ...

    def error(self) -> bytes:
        """An error in mid-stream."""
        ...

    def whole(self, call_id: bytes, prompt_tokens: int, tokens: int, text: str) -> dict[str, Any]:
        """The answer to a request that wants no stream."""
        ...

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        """The body of an answer that is no success."""
        ...


def call_id(call: int) -> bytes:
    """The digits that name the call in its frames."""
    return b"%0*d" % (_ID_DIGITS, call)


def token(frames: Frames, call: int, k: int) -> bytes:
    """The frame of the call's token k."""
    return call_id(call).join(frames.tokens[(call + k) % len(WORDS)])


def said(call: int, k: int, count: int) -> str:
    """Tokens k to k + count of a call, as text."""
    return "".join(f" {WORDS[(call + each) % len(WORDS)]}" for each in range(k, k + count))


def compact(content: object) -> str:
    """JSON as providers send it: no spaces, characters as they are."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def chunk(body: bytes) -> bytes:
    """Body bytes as one chunk of the message."""
    return b"%x\r\n%b\r\n" % (len(body), body)


END = b"0\r\n\r\n"
"""The last chunk."""


def stream_head(*more: str) -> bytes:
    """The head of a response that streams events; more: further header lines."""
    lines = (
        "HTTP/1.1 200 OK",
        "Content-Type: text/event-stream; charset=utf-8",
        "Cache-Control: no-cache",
        "Transfer-Encoding: chunked",
        *more,
    )
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


HEAD = stream_head()
