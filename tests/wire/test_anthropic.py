"""The fold over Anthropic's named events."""

import json

import pytest

from streamlanes.wire.anthropic import MAX_TOKENS, MessagesFold, request_body
from streamlanes.wire.base import Brought, ProtocolError

NOTHING, TEXT, REASONING = Brought.NOTHING, Brought.TEXT, Brought.REASONING


def event(kind: str, **content: object) -> tuple[bytes, bytes]:
    return kind.encode(), json.dumps({"type": kind, **content}).encode()


def unnamed(kind: str, **content: object) -> tuple[bytes, bytes]:
    return b"", event(kind, **content)[1]


def delta(**content: object) -> tuple[bytes, bytes]:
    return event("content_block_delta", index=0, delta=content)


START = event("message_start", message={"id": "m", "usage": {"input_tokens": 25, "output_tokens": 1}})
STOP_REASON = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 15})
WHOLE = [
    START,
    event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    event("ping"),
    delta(type="text_delta", text="Hello"),
    delta(type="text_delta", text="!"),
    event("content_block_stop", index=0),
    STOP_REASON,
    event("message_stop"),
]


def test_a_whole_message():
    fold = MessagesFold()
    brought = [fold.add(each) for each in WHOLE[:-2]]
    assert brought == [NOTHING, NOTHING, NOTHING, TEXT, TEXT, NOTHING]
    assert not fold.ended
    assert fold.usage_tokens == 1, "what it began with"
    fold.add(WHOLE[-2])
    assert fold.finish_reason == "end_turn"
    assert fold.ended
    assert not fold.done, "message_stop is the mark of the end"
    assert fold.usage_tokens == 15, "cumulative: the last one counts"
    fold.add(WHOLE[-1])
    assert fold.done
    assert fold.over


@pytest.mark.parametrize(
    ("each", "brought"),
    [
        (delta(type="text_delta", text=""), NOTHING),
        (delta(type="thinking_delta", thinking="hm"), REASONING),
        (delta(type="thinking_delta", thinking=""), NOTHING),
        (delta(type="signature_delta", signature="EqQB"), NOTHING),
        (delta(type="input_json_delta", partial_json='{"a'), NOTHING),
        (unnamed("content_block_delta", index=0, delta={"type": "text_delta", "text": "a"}), TEXT),
        (unnamed("ping"), NOTHING),
        ((b"an_event_of_tomorrow", b"whatever it brings"), NOTHING),
        ((b"ping", b""), NOTHING),
    ],
)
def test_only_text_and_thinking_are_tokens(each: tuple[bytes, bytes], brought: Brought):
    fold = MessagesFold()
    assert fold.add(each) is brought
    assert not fold.ended


def test_a_message_delta_without_a_reason_or_usage_changes_neither():
    fold = MessagesFold()
    for each in (STOP_REASON, event("message_delta", delta={"stop_reason": None}, usage=None)):
        fold.add(each)
    assert (fold.finish_reason, fold.usage_tokens) == ("end_turn", 15)


@pytest.mark.parametrize("form", [event, unnamed])
def test_an_error_in_mid_stream_is_kept_and_ends_it(form):
    fold = MessagesFold()
    said = {"type": "overloaded_error", "message": "Overloaded"}
    assert fold.add(form("error", error=said)) is NOTHING
    assert fold.error == said
    assert fold.over
    assert not fold.ended


@pytest.mark.parametrize(
    ("name", "data"),
    [
        *((b"", b""), (b"", b"[DONE]"), (b"", b"{}"), (b"", b'{"type":7}'), (b"", b'{"type":"\\ud800"}')),
        *((b"content_block_delta", b"{}"), (b"content_block_delta", b'{"delta":7}'), (b"error", b"[]")),
        *((b"message_delta", b'{"usage":{}}'), (b"message_start", b'{"message":{"usage":7}}')),
        *((b"content_block_delta", b"[" * 100_000), (b"message_stop", b"{")),
    ],
    ids=lambda value: value[:24],
)
def test_what_does_not_fit_its_name_is_a_protocol_error(name: bytes, data: bytes):
    with pytest.raises(ProtocolError):
        MessagesFold().add((name, data))


def test_the_request_names_its_call_and_a_limit():
    body = json.loads(request_body("[call 7] Say something."))
    assert body["stream"] is True
    assert body["max_tokens"] == MAX_TOKENS
    assert body["messages"] == [{"role": "user", "content": "[call 7] Say something."}]
