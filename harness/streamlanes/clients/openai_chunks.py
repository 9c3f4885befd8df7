"""What one chunk of an OpenAI stream says, as its SDK hands it out: the same for both forms."""

from typing import TYPE_CHECKING, Any

from streamlanes.clients.base import Into, now_ns

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionChunk


def request(into: Into) -> dict[str, Any]:
    """The arguments of `chat.completions.create`."""
    return {
        "model": "sim",
        "messages": [{"role": "user", "content": into.prompt}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def hand_over(chunk: "ChatCompletionChunk", into: Into) -> None:
    """Tell the receiver what a chunk brought."""
    now = now_ns()
    into.event(now)
    if chunk.choices:
        choice = chunk.choices[0]
        delta = choice.delta
        if delta.content:
            into.tokens(1, now)
        elif getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None):
            into.tokens(1, now, visible=False)
        if choice.finish_reason:
            into.finished(marked=False)  # `[DONE]` and the end of the answer look the same from here
    if chunk.usage:
        into.used(chunk.usage.completion_tokens)
