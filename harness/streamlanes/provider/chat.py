"""OpenAI's chat completions in bytes."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

from streamlanes.provider.frames import CREATED, END, HEAD, MARK, MODEL, WORDS, chunk, compact

PADDED_LETTERS = 16
"""With padding, a token's text and its `obfuscation` have this many letters together, so that a frame's
length does not tell the token's."""

_ROLE = {"role": "assistant", "content": ""}
_DONE = b"data: [DONE]\n\n"
_END = chunk(_DONE) + END
_KINDS = {429: "rate_limit_error", 500: "server_error", 503: "server_error", 529: "server_error"}


class Chat:
    """usage: whether the caller asked for the count of tokens. padding: whether events carry the field
    `obfuscation`."""

    def __init__(self, usage: bool, padding: bool) -> None:
        self._usage = usage
        self._padding = padding
        self.tokens: Sequence[tuple[bytes, ...]] = [
            _cut(self._event({"content": f" {word}"})) for word in WORDS
        ]
        self._role, self._stop = _cut(self._event(_ROLE)), _cut(self._event({}, "stop"))
        counts = _sse(_head() | {"choices": [], "usage": _usage("%d", "%d", "%d")})
        self._counts = counts.replace(b'"%d"', b"%d")

    def first(self, call_id: bytes, prompt_tokens: int) -> bytes:
        """Response head and role event."""
        before, after = self._role
        return HEAD + before + call_id + after

    def last(self, call_id: bytes, prompt_tokens: int, tokens: int) -> bytes:
        """Finish, usage where it was asked for, `[DONE]`, end of the message."""
        before, after = self._stop
        counts = chunk(self._counted(call_id, prompt_tokens, tokens)) if self._usage else b""
        return before + call_id + after + counts + _END

    def opening(self, call_id: bytes, prompt_tokens: int) -> bytes:
        """The role, with no text."""
        return self._named(call_id, self._event(_ROLE))

    def text(self, call_id: bytes, text: str) -> bytes:
        """An event that brings text."""
        return self._named(call_id, self._event({"content": text}))

    def finish(self, call_id: bytes, prompt_tokens: int, tokens: int) -> bytes:
        """The reason for the end, and the usage event where it was asked for."""
        found = self._named(call_id, self._event({}, "stop"))
        return found + (self._counted(call_id, prompt_tokens, tokens) if self._usage else b"")

    def done(self) -> bytes:
        """`[DONE]`."""
        return _DONE

    def error(self) -> bytes:
        """An error object in place of a chunk."""
        return _sse(self.refusal(500, "The server had an error while processing your request"))

    def whole(self, call_id: bytes, prompt_tokens: int, tokens: int, text: str) -> dict[str, Any]:
        """A completion that was not streamed."""
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return _head("chat.completion", f"chatcmpl-{call_id.decode()}") | {
            "choices": [choice],
            "usage": _usage(prompt_tokens, tokens, prompt_tokens + tokens),
        }

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        """An error object."""
        kind = _KINDS.get(status, "invalid_request_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def _event(self, delta: dict[str, str], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        content = _head() | {"choices": [choice]}
        if self._usage:
            content["usage"] = None
        if self._padding:
            content["obfuscation"] = _letters(delta.get("content", ""))
        return _sse(content)

    def _counted(self, call_id: bytes, prompt_tokens: int, tokens: int) -> bytes:
        """The usage event."""
        counts = (prompt_tokens, tokens, prompt_tokens + tokens)
        return self._named(call_id, self._counts) % counts

    @staticmethod
    def _named(call_id: bytes, event: bytes) -> bytes:
        return event.replace(MARK.encode(), call_id, 1)


def _head(kind: str = "chat.completion.chunk", name: str = f"chatcmpl-{MARK}") -> dict[str, Any]:
    return {"id": name, "object": kind, "created": CREATED, "model": MODEL, "system_fingerprint": None}


def _sse(content: dict[str, Any]) -> bytes:
    return f"data: {compact(content)}\n\n".encode()


def _cut(event: bytes) -> tuple[bytes, bytes]:
    """An event in its HTTP chunk, cut where the call's id goes."""
    before, after = chunk(event).split(MARK.encode())
    return before, after


def _usage(prompt: object, answer: object, both: object) -> dict[str, object]:
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": both}


def _letters(content: str) -> str:
    """Padding that goes with this content: the same each time, so that it can be rendered beforehand."""
    digest = hashlib.sha256(content.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode()[: max(0, PADDED_LETTERS - len(content))]


@cache
def chat(*, usage: bool, padding: bool) -> Chat:
    """The four ways of asking, each rendered once."""
    return Chat(usage, padding)
