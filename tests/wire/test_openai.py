"""The fold over OpenAI chunks: what is a token, what is the end, whose count holds."""

import json

import pytest

from streamlanes.wire.base import Brought, ProtocolError
from streamlanes.wire.openai import ChatFold, request_body

NOTHING, TEXT, REASONING = Brought.NOTHING, Brought.TEXT, Brought.REASONING


def chunk(**content: object) -> bytes:
    return json.dumps(content).encode()


def delta(**content: object) -> bytes:
    return chunk(choices=[{"index": 0, "delta": content}])


@pytest.mark.parametrize(
    ("event", "brought"),
    [
        (delta(role="assistant", content=""), NOTHING),
        (delta(role="assistant"), NOTHING),
        (delta(content=None), NOTHING),
        (delta(content=" a"), TEXT),
        (delta(reasoning_content="hm"), REASONING),
        (delta(reasoning="hm"), REASONING),
        (delta(reasoning_content="", content=""), NOTHING),
        (delta(content="a", reasoning_content="hm"), TEXT),
        (delta(tool_calls=[{"index": 0}]), NOTHING),
        (chunk(choices=[{"index": 0, "delta": None}]), NOTHING),
        (chunk(choices=[{"index": 0}]), NOTHING),
    ],
)
def test_an_empty_string_is_no_token(event: bytes, brought: Brought):
    fold = ChatFold()
    assert fold.add(event) is brought
    assert not fold.ended


def test_the_end_is_a_finish_reason_or_done():
    fold = ChatFold()
    fold.add(chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]))
    assert fold.ended
    assert not fold.done
    assert not fold.over, "usage may follow"
    assert fold.finish_reason == "stop"
    other = ChatFold()
    assert other.add(b"[DONE]") is NOTHING
    assert other.ended
    assert other.done
    assert other.over


def test_a7_chunks_without_choices_are_no_token_and_no_error():
    fold = ChatFold()
    events = [
        chunk(choices=[], prompt_filter_results=[]),
        *[delta(content=text) for text in ("a", "b", "c")],
        chunk(choices=[], usage={"prompt_tokens": 4, "completion_tokens": 9, "total_tokens": 13}),
        b"[DONE]",
    ]
    assert [fold.add(event) for event in events] == [NOTHING, TEXT, TEXT, TEXT, NOTHING, NOTHING]
    assert fold.usage_tokens == 9
    assert fold.error is None
    assert fold.done


def test_usage_may_stand_in_any_chunk_and_the_last_one_counts():
    fold = ChatFold()
    for tokens in (1, 2):
        fold.add(chunk(choices=[{"delta": {"content": "x"}}], usage={"completion_tokens": tokens}))
    fold.add(chunk(choices=[{"delta": {}, "finish_reason": "stop"}], usage=None))
    assert fold.usage_tokens == 2


@pytest.mark.parametrize("count", [None, "9", 9.0, True, -1, 1 << 64, [9]])
def test_what_is_no_count_is_no_usage(count: object):
    fold = ChatFold()
    fold.add(chunk(choices=[], usage={"completion_tokens": count}))
    assert fold.usage_tokens is None


@pytest.mark.parametrize(
    "event",
    [
        chunk(error={"message": "overloaded"}),
        chunk(error={"message": "overloaded"}, choices=[]),
        *[
            chunk(
                error={"message": "overloaded"},
                choices=[{"index": 0, "delta": {"content": ""}, "finish_reason": reason}],
            )
            for reason in ("error", None)
        ],
    ],
)
def test_an_error_in_mid_stream_is_kept_and_ends_it(event: bytes):
    fold = ChatFold()
    assert fold.add(event) is NOTHING
    assert fold.error == {"message": "overloaded"}
    assert fold.over
    assert not fold.done
    fold.add(b"[DONE]")
    assert fold.error == {"message": "overloaded"}, "what comes after it mends nothing"


@pytest.mark.parametrize(("said", "brought"), [({"content": " a"}, TEXT), ({"reasoning": "hm"}, REASONING)])
def test_an_error_beside_a_token_is_one_too(said: dict[str, str], brought: Brought):
    fold = ChatFold()
    assert fold.add(chunk(error={"message": "overloaded"}, choices=[{"index": 0, "delta": said}])) is brought
    assert fold.error == {"message": "overloaded"}
    assert fold.over


@pytest.mark.parametrize(
    "data",
    [
        *(b"{", b"", b"[]", b"7", b"null", b'{"choices":[7]}', b"\xff", b'{"choices":[]} x', b"[DONE] "),
        *(b'{"choices":true}', b'{"choices":{"a":1}}', b'{"choices":[{"delta":[1]}]}', b'{"usage":7}'),
        *(b"[" * 100_000, b'{"choices":[' * 50_000, b"9" * 10_000),
    ],
    ids=lambda data: data[:20],
)
def test_what_is_no_chunk_is_a_protocol_error(data: bytes):
    with pytest.raises(ProtocolError):
        ChatFold().add(data)


@pytest.mark.parametrize("space", [b" ", b"\t", b"\n"])
def test_white_space_around_a_chunk_is_allowed(space: bytes):
    assert ChatFold().add(space + delta(content="a")) is TEXT
    assert ChatFold().add(delta(content="a") + space) is TEXT


def test_the_request_names_its_call_and_wants_a_stream_with_usage():
    body = json.loads(request_body("[call 7] Say something."))
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["messages"][0]["content"].startswith("[call 7]")
