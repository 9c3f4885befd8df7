"""Anthropic's messages in bytes: named events in a fixed order, and no `[DONE]`."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from streamlanes.provider.frames import END, HEAD, MODEL, WORDS, chunk, compact

_KINDS = {
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    529: "overloaded_error",
}


class Messages:
    """There is one way of asking."""

    def __init__(self) -> None:
        # The call's id is not in them.
        self.tokens: Sequence[tuple[bytes, ...]] = [(chunk(self.text(b"", f" {word}")),) for word in WORDS]

    def first(self, call_id: bytes, prompt_tokens: int) -> bytes:
        """Response head, start of message and block, a ping."""
        return HEAD + chunk(self.opening(call_id, prompt_tokens))

    def last(self, call_id: bytes, prompt_tokens: int, tokens: int) -> bytes:
        """End of block, stop reason with the count of tokens, end of message."""
        return chunk(self.finish(call_id, prompt_tokens, tokens) + self.done()) + END

    def opening(self, call_id: bytes, prompt_tokens: int) -> bytes:
        """A message without content, an empty block, a ping."""
        message = _message(call_id, [], None, {"input_tokens": prompt_tokens, "output_tokens": 1})
        block = {"type": "text", "text": ""}
        return (
            _sse({"type": "message_start", "message": message})
            + _sse({"type": "content_block_start", "index": 0, "content_block": block})
            + _sse({"type": "ping"})
        )

    def text(self, call_id: bytes, text: str) -> bytes:
        """An event that brings text."""
        delta = {"type": "text_delta", "text": text}
        return _sse({"type": "content_block_delta", "index": 0, "delta": delta})

    def finish(self, call_id: bytes, prompt_tokens: int, tokens: int) -> bytes:
        """End of the block, then the reason for the end with all output tokens so far."""
        delta = {"stop_reason": "end_turn", "stop_sequence": None}
        usage = {"input_tokens": prompt_tokens, "output_tokens": tokens}
        return _sse({"type": "content_block_stop", "index": 0}) + _sse(
            {"type": "message_delta", "delta": delta, "usage": usage}
        )

    def done(self) -> bytes:
        """End of the message."""
        return _sse({"type": "message_stop"})

    def error(self) -> bytes:
        """An error event."""
        return _sse(self.refusal(529, "Overloaded"))

    def whole(self, call_id: bytes, prompt_tokens: int, tokens: int, text: str) -> dict[str, Any]:
        """A message that was not streamed."""
        usage = {"input_tokens": prompt_tokens, "output_tokens": tokens}
        return _message(call_id, [{"type": "text", "text": text}], "end_turn", usage)

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        """An error object."""
        kind = _KINDS.get(status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


def _message(
    call_id: bytes, content: list[dict[str, str]], stop_reason: str | None, usage: dict[str, int]
) -> dict[str, Any]:
    return {
        "id": f"msg_{call_id.decode()}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage,
    }


def _sse(content: dict[str, Any]) -> bytes:
    return f"event: {content['type']}\ndata: {compact(content)}\n\n".encode()


@cache
def messages() -> Messages:
    """Rendered once."""
    return Messages()
