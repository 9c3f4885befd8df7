"""The Anthropic messages dialect: a request's body, and the fold over a stream's named events."""

import json

from streamlanes.wire.base import Brought, Dialect, Fold, no_event, parse
from streamlanes.wire.sse import NamedEvent, NamedEventDecoder

PATH = "/v1/messages"
MAX_TOKENS = 1 << 16
"""What a request allows the answer, since it has to say: more than any workload's call has."""

NOTHING, TEXT, REASONING = Brought.NOTHING, Brought.TEXT, Brought.REASONING

_READ = frozenset(
    (b"content_block_delta", b"message_start", b"message_delta", b"message_stop", b"error", b"")
)
"""Names of the events that say something here. Without a name, an event's `type` says the same."""


def request_body(prompt: str) -> bytes:
    """The body of a streaming message."""
    request = {
        "model": "sim",
        "max_tokens": MAX_TOKENS,
        "stream": True,
        "messages": [{"role": "user", "content": prompt}],
    }
    return json.dumps(request).encode()


class MessagesFold(Fold):
    """Takes name and data of each event.

    Tokens come in deltas of content blocks: text, or thinking. Usage is cumulative: it stands at the
    start and in every `message_delta`, and the last one counts. The end is a `stop_reason`, then
    `message_stop`; there is no `[DONE]`. Pings and events that this version does not know say nothing.
    """

    __slots__ = ()

    def add(self, event: NamedEvent) -> Brought:
        """Take one event. Raises ProtocolError for data that does not fit its name."""
        name, data = event
        if name not in _READ:
            return NOTHING
        said = parse(data)
        try:
            kind = name or said["type"].encode()
            if kind == b"content_block_delta":
                delta = said["delta"]
                if delta.get("text"):
                    return TEXT
                return REASONING if delta.get("thinking") else NOTHING
            if kind == b"message_delta":
                self.finish_reason = said["delta"].get("stop_reason") or self.finish_reason
                self._use(said.get("usage"))
            elif kind == b"message_start":
                self._use(said["message"].get("usage"))
            elif kind == b"message_stop":
                self.finish()
            elif kind == b"error":
                self.fail(said["error"])
        except (AttributeError, TypeError, KeyError, UnicodeEncodeError):
            raise no_event(data) from None
        return NOTHING

    def _use(self, usage: dict[str, object] | None) -> None:
        if usage:
            self.use(usage.get("output_tokens"))


DIALECT = Dialect(path=PATH, request=request_body, decoder=NamedEventDecoder, fold=MessagesFold)
