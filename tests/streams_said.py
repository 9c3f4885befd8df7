"""Streams of three tokens in both dialects, event by event, for scripted answers."""

import json
from dataclasses import dataclass

from scripted import EVENT_STREAM, LAST_CHUNK, Do, Script, chunk

TOKENS = 3


@dataclass(frozen=True)
class Said:
    """One dialect's events: what comes first, reasoning in each of its spellings, a token, the finish reason
    with the usage, the mark of the end, an error in mid-stream, garbage."""

    opening: bytes
    thoughts: tuple[bytes, ...]
    token: bytes
    reason: bytes
    mark: bytes
    error: bytes
    garbage: bytes

    def part(self, tokens: int) -> list[bytes | Do]:
        """The beginning of an answer, with so many tokens."""
        return [EVENT_STREAM, chunk(self.opening), *[chunk(self.token)] * tokens]

    @property
    def whole(self) -> Script:
        return [*self.part(TOKENS), chunk(self.reason + self.mark) + LAST_CHUNK]


def _data(content: object, event: str = "") -> bytes:
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(content)}\n\n".encode()


_CHUNK = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def _chat(delta: dict[str, str], finish: str | None = None) -> bytes:
    return _data({**_CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _named(kind: str, **content: object) -> bytes:
    return _data({"type": kind, **content}, kind)


_USAGE = {"completion_tokens": 7, "prompt_tokens": 1, "total_tokens": 8}
_MESSAGE = {
    "id": "x",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "usage": {"input_tokens": 1, "output_tokens": 1},
}

SAID = {
    "openai": Said(
        opening=_chat({"role": "assistant", "content": ""}),
        thoughts=(_chat({"reasoning_content": "hm"}), _chat({"reasoning": " so"})),
        token=_chat({"content": " a"}),
        reason=_chat({}, "stop") + _data({**_CHUNK, "choices": [], "usage": _USAGE}),
        mark=b"data: [DONE]\n\n",
        error=_data({"error": {"message": "overloaded", "type": "server_error"}}),
        garbage=b"data: {oops\n\n",
    ),
    "anthropic": Said(
        opening=_named("message_start", message=_MESSAGE)
        + _named("content_block_start", index=0, content_block={"type": "text", "text": ""})
        + _named("ping"),
        thoughts=(
            _named("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"}),
        ),
        token=_named("content_block_delta", index=0, delta={"type": "text_delta", "text": " a"}),
        reason=_named("content_block_stop", index=0)
        + _named("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 7}),
        mark=_named("message_stop"),
        error=_named("error", error={"type": "overloaded_error", "message": "overloaded"}),
        garbage=b"event: content_block_delta\ndata: {oops\n\n",
    ),
}
