"""The OpenAI chat-completions dialect: a request's body, and the fold over a stream's events."""

import json

_parse = json.JSONDecoder().raw_decode  # json.loads adds an encoding guess and a regex match to it


class ProtocolError(ValueError):
    """Bytes that the dialect does not allow."""


def request_body(prompt: str) -> bytes:
    """The body of a streaming chat completion."""
    message = {"role": "user", "content": prompt}
    return json.dumps({"model": "sim", "stream": True, "messages": [message]}).encode()


class ChatFold:
    """What a stream has said so far.

    done: `[DONE]` was seen. finish_reason: the model's own end, or None. error: the provider's error
    object, or None. usage_tokens: the provider's count of output tokens, or None.
    """

    __slots__ = ("done", "error", "finish_reason", "usage_tokens")

    def __init__(self) -> None:
        self.done = False
        self.finish_reason: str | None = None
        self.error: object | None = None
        self.usage_tokens: int | None = None

    @property
    def ended(self) -> bool:
        """Whether the stream said that it is over."""
        return self.done or self.finish_reason is not None

    def add(self, data: bytes) -> int:
        """Take one event's data; returns 1 if it brought a token (text or reasoning), else 0.

        Raises ProtocolError for data that is not a JSON object of this dialect.
        """
        if data == b"[DONE]":
            self.done = True
            return 0
        try:
            text = data.decode()
            chunk, end = _parse(text)
            if end != len(text) and text[end:].strip():
                raise ProtocolError("something follows the JSON object of an event")
            choices = chunk.get("choices")
            if choices:
                choice = choices[0]
                delta = choice.get("delta") or {}
                if choice.get("finish_reason"):
                    self.finish_reason = choice["finish_reason"]
                if chunk.get("usage"):
                    self.usage_tokens = chunk["usage"].get("completion_tokens")
                token = delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning")
                return 1 if token else 0
            if chunk.get("error"):
                self.error = chunk["error"]
            if chunk.get("usage"):
                self.usage_tokens = chunk["usage"].get("completion_tokens")
            return 0
        except (ValueError, AttributeError, TypeError, KeyError, IndexError) as error:
            if isinstance(error, ProtocolError):
                raise
            raise ProtocolError(f"an event that is no chat chunk: {data[:80]!r}") from None
