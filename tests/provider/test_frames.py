"""The provider's bytes are what a client of each dialect expects."""

import json
from typing import Any

import pytest

from streamlanes.provider import frames
from streamlanes.provider.chat import PADDED_LETTERS, chat
from streamlanes.provider.frames import Frames
from streamlanes.provider.messages import messages
from streamlanes.wire.http1 import ResponseDecoder
from streamlanes.wire.openai import ChatFold
from streamlanes.wire.sse import EventDecoder

TOKENS = 70
WAYS = [chat(usage=usage, padding=padding) for usage in (False, True) for padding in (False, True)]


def body_of(way: Frames, call: int = 123) -> bytes:
    """A whole answer's body, and the message around it as it should be."""
    call_id = frames.call_id(call)
    data = (
        way.first(call_id, 4)
        + b"".join(frames.token(way, call, k) for k in range(TOKENS))
        + way.last(call_id, 4, TOKENS)
    )
    response = ResponseDecoder()
    body = response.feed(data)
    assert response.complete
    assert response.status == 200
    return body


def events_of(way: Frames) -> list[Any]:
    *events, last = EventDecoder().feed(body_of(way))
    assert last == b"[DONE]"
    return [json.loads(event) for event in events]


@pytest.mark.parametrize("way", WAYS)
def test_a_whole_stream_decodes_to_its_tokens(way: Frames):
    events = EventDecoder().feed(body_of(way))
    fold = ChatFold()
    assert sum(fold.add(event) for event in events) == TOKENS
    assert fold.finish_reason == "stop"
    assert fold.done
    assert b"chatcmpl-0000000123" in events[5]


def test_usage_comes_last_and_is_null_before():
    without, with_usage = (
        events_of(chat(usage=False, padding=False)),
        events_of(chat(usage=True, padding=False)),
    )
    assert len(without) == 1 + TOKENS + 1, "role, tokens, finish"
    assert not any("usage" in event for event in without)
    *before, last = with_usage
    assert len(before) == len(without)
    assert {event["usage"] for event in before} == {None}
    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 4, "completion_tokens": TOKENS, "total_tokens": TOKENS + 4}


def test_padding_hides_the_length_of_a_token():
    role, *tokens, _ = events_of(chat(usage=False, padding=True))
    assert {len(json.dumps(event)) for event in tokens} == {len(json.dumps(tokens[0]))}
    for event in (role, *tokens):
        assert len(event["choices"][0]["delta"]["content"]) + len(event["obfuscation"]) == PADDED_LETTERS


@pytest.mark.parametrize("way", [*WAYS, messages()])
def test_what_is_rendered_beforehand_is_what_is_rendered_one_by_one(way: Frames):
    call_id = frames.call_id(9)
    bare = (
        way.opening(call_id, 4)
        + b"".join(way.text(call_id, frames.said(9, k, 1)) for k in range(TOKENS))
        + way.finish(call_id, 4, TOKENS)
        + way.done()
    )
    assert body_of(way, 9) == bare


def test_a_message_is_named_events_in_order():
    blocks = [block.split("\n") for block in body_of(messages()).decode().split("\n\n") if block]
    events = []
    for name, data in blocks:
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "ping",
        *["content_block_delta"] * TOKENS,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[0]["message"]["id"] == "msg_0000000123"
    assert events[0]["message"]["usage"] == {"input_tokens": 4, "output_tokens": 1}
    assert events[-2]["usage"]["output_tokens"] == TOKENS, "cumulative"
    text = "".join(event["delta"]["text"] for event in events[3:-3])
    assert text == frames.said(123, 0, TOKENS)
