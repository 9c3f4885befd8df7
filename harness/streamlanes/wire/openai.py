"""The OpenAI chat-completions dialect: a request's body, and the fold over a stream's events."""

import json

from streamlanes.wire.base import Brought, Dialect, Fold, no_event, parse
from streamlanes.wire.sse import EventDecoder

PATH = "/v1/chat/completions"

NOTHING, TEXT, REASONING = Brought.NOTHING, Brought.TEXT, Brought.REASONING


def request_body(prompt: str) -> bytes:
    """The body of a streaming chat completion that asks for its usage."""
    request = {
        "model": "sim",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": prompt}],
    }
    return json.dumps(request).encode()


class ChatFold(Fold):
    """Takes the data of each event.

    The end is a chunk's `finish_reason`, then `[DONE]`. A chunk without choices is no token and no
    error: it brings usage, or what a content filter found, at the start or at the end. An error comes
    as an object under `error`, with or without a choice beside it.
    """

    __slots__ = ()

    def add(self, event: bytes) -> Brought:
        """Take one event's data. Raises ProtocolError for what is no chat chunk."""
        if event == b"[DONE]":
            self.finish()
            return NOTHING
        chunk = parse(event)
        try:
            choices = chunk.get("choices")
            if chunk.get("usage"):
                self.use(chunk["usage"].get("completion_tokens"))
            if chunk.get("error"):
                self.fail(chunk["error"])
            if not choices:
                return NOTHING
            choice = choices[0]
            if choice.get("finish_reason"):
                self.finish_reason = choice["finish_reason"]
            delta = choice.get("delta") or {}
            if delta.get("content"):
                return TEXT
            return REASONING if delta.get("reasoning_content") or delta.get("reasoning") else NOTHING
        except (AttributeError, TypeError, KeyError, IndexError):
            raise no_event(event) from None


DIALECT = Dialect(path=PATH, request=request_body, decoder=EventDecoder, fold=ChatFold)
