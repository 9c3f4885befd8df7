"""The bytes of an OpenAI chat-completions stream, rendered beforehand as far as they can be."""

import json

MODEL = "sim"

WORDS = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an "
    "they which one you were all her she there would their we him been has when who will no more if out so "
    "up said what its about than into them can only other time new some could these two may first then do"
).split()
"""What a simulated model says: word k of a call is WORDS[(call + k) % len(WORDS)]."""

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
)
END = b"0\r\n\r\n"
_ID_DIGITS = 10


def _event(delta: dict[str, str], finish_reason: str | None) -> tuple[bytes, bytes]:
    """One chunk event in its HTTP chunk, cut where the call's id goes."""
    mark = "#" * _ID_DIGITS
    data = json.dumps(
        {
            "id": f"chatcmpl-{mark}",
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": MODEL,
            "system_fingerprint": None,
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}],
        },
        separators=(",", ":"),
    )
    body = f"data: {data}\n\n".encode()
    before, after = body.split(mark.encode())
    return b"%x\r\n" % len(body) + before, after + b"\r\n"


_ROLE = _event({"role": "assistant", "content": ""}, None)
_FINISH = _event({}, "stop")
_TOKENS = [_event({"content": f" {word}"}, None) for word in WORDS]
_DONE = b"e\r\ndata: [DONE]\n\n\r\n"


def call_id(call: int) -> bytes:
    """The digits that name the call in its frames."""
    return b"%0*d" % (_ID_DIGITS, call)


def token(call: int, call_id: bytes, k: int) -> bytes:
    """The frame of the call's token k."""
    before, after = _TOKENS[(call + k) % len(_TOKENS)]
    return before + call_id + after


def first(call_id: bytes) -> bytes:
    """What stands before the first token, in the same write: response head and role frame."""
    return HEAD + _ROLE[0] + call_id + _ROLE[1]


def last(call_id: bytes) -> bytes:
    """What stands after the last token, in the same write: finish, `[DONE]`, end of the message."""
    return _FINISH[0] + call_id + _FINISH[1] + _DONE + END
