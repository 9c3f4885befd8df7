"""Whole answers in both dialects, as bytes: 2 reasoning tokens and 3 of text, one of them not ASCII."""

import json

REASONING, TEXT = ("hm", " so"), ("crème", " 🦉", " 夜")
TOKENS = len(REASONING) + len(TEXT)
USAGE = 9


def _data(content: object) -> str:
    return f"data: {json.dumps(content, ensure_ascii=False)}"


def _chat(delta: dict[str, str], **more: object) -> str:
    return _data({"choices": [{"index": 0, "delta": delta, **more}]})


def _named(kind: str, **content: object) -> str:
    return f"event: {kind}\n{_data({'type': kind, **content})}"


def _block(**delta: str) -> str:
    return _named("content_block_delta", index=0, delta=delta)


_OPENAI = [
    _data({"choices": [], "prompt_filter_results": []}),
    _chat({"role": "assistant", "content": ""}),
    *[_chat({"reasoning_content": text}) for text in REASONING],
    ": keep-alive",
    *[_chat({"content": text}) for text in TEXT],
    _chat({}, finish_reason="stop"),
    _data({"choices": [], "usage": {"completion_tokens": USAGE}}),
    "data: [DONE]",
]
_ANTHROPIC = [
    _named("message_start", message={"usage": {"input_tokens": 4, "output_tokens": 1}}),
    _named("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}),
    *[_block(type="thinking_delta", thinking=text) for text in REASONING],
    _named("content_block_stop", index=0),
    _named("ping"),
    *[_block(type="text_delta", text=text) for text in TEXT],
    _named("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": USAGE}),
    _named("message_stop"),
]
_ENDS = ("\n", "\r\n", "\r")

WHOLE = {
    (api, end): "".join(f"{event}\n\n" for event in events).replace("\n", end).encode()
    for api, events in (("openai", _OPENAI), ("anthropic", _ANTHROPIC))
    for end in _ENDS
}
"""By dialect and end of line."""
