"""The fold over OpenAI chunks, as far as the I/O lane needs it."""

import json

import pytest

from streamlanes.wire.openai import ChatFold, ProtocolError, request_body


def chunk(**content: object) -> bytes:
    return json.dumps(content).encode()


def delta(**content: object) -> bytes:
    return chunk(choices=[{"index": 0, "delta": content}])


def test_only_text_is_a_token():
    fold = ChatFold()
    assert fold.add(delta(role="assistant", content="")) == 0
    assert fold.add(delta(content=" a")) == 1
    assert fold.add(delta(reasoning_content="hm")) == 1
    assert fold.add(delta(reasoning="hm")) == 1
    assert fold.add(delta(content=None)) == 0
    assert not fold.ended


def test_the_end_is_a_finish_reason_or_done():
    fold = ChatFold()
    fold.add(chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]))
    assert fold.ended
    assert not fold.done
    assert fold.finish_reason == "stop"
    other = ChatFold()
    assert other.add(b"[DONE]") == 0
    assert other.ended
    assert other.done


def test_empty_choices_are_no_token_and_no_error():
    fold = ChatFold()
    assert fold.add(chunk(choices=[], prompt_filter_results=[])) == 0
    assert fold.add(chunk(choices=[], usage={"completion_tokens": 9})) == 0
    assert fold.usage_tokens == 9


def test_an_error_in_mid_stream_is_kept():
    fold = ChatFold()
    fold.add(chunk(error={"message": "overloaded"}))
    assert fold.error == {"message": "overloaded"}


@pytest.mark.parametrize("data", [b"{", b"[]", b"7", b'{"choices":[7]}', b"\xff", b'{"choices":[]} x'])
def test_what_is_no_chunk_is_a_protocol_error(data: bytes):
    with pytest.raises(ProtocolError):
        ChatFold().add(data)


def test_the_request_names_its_call():
    body = json.loads(request_body("[call 7] Say something."))
    assert body["stream"] is True
    assert body["messages"][0]["content"].startswith("[call 7]")
