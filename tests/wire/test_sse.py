"""The event-stream decoder: acceptance cases A1 and A3, and every way of cutting the bytes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlanes.wire.openai import ChatFold
from streamlanes.wire.sse import MAX_EVENT_BYTES, EventDecoder, EventTooLong

A1 = 'data: {"choices":[{"index":0,"delta":{"content":"crème 🦉 夜"}}]}\n\ndata: [DONE]\n\n'.encode()
A3 = (
    b'data:{"choices":[{"index":0,"delta":{"content":" two"}}]}\r\n\r\n'
    b"data:  lead\r\ndata:\r\ndata\r\ndata: tail\r\n\r\n"
)
A3_EVENTS = [b'{"choices":[{"index":0,"delta":{"content":" two"}}]}', b" lead\n\n\ntail"]


def decoded(*pieces: bytes) -> list[bytes]:
    decoder = EventDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


def cut(data: bytes, *after: int) -> list[bytes]:
    borders = [0, *after, len(data)]
    return [data[a:b] for a, b in itertools.pairwise(borders)]


def test_a1_characters_cut_between_reads():
    assert len(A1) == 85
    whole = decoded(A1)
    assert next(event.decode() for event in whole).count("crème 🦉 夜") == 1
    assert whole[1] == b"[DONE]"
    for pieces in (cut(A1, 52, 58, 63), *(cut(A1, at) for at in range(1, 85)), [bytes([b]) for b in A1]):
        events = decoded(*pieces)
        assert events == whole
        assert "\ufffd" not in events[0].decode()
        fold = ChatFold()
        assert [fold.add(event) for event in events] == [1, 0]
        assert fold.done


def test_a3_cr_and_lf_in_different_reads():
    assert decoded(A3) == A3_EVENTS
    for at, byte in enumerate(A3):
        if byte == 0x0D:
            assert decoded(*cut(A3, at + 1)) == A3_EVENTS
    assert decoded(*(bytes([b]) for b in A3)) == A3_EVENTS


def test_a3_lone_cr_ends_a_line():
    data = b'data: {"a":1}\rdata: {"b":2}\r\rdata: [DONE]\r\r'
    expected = [b'{"a":1}\n{"b":2}', b"[DONE]"]
    assert decoded(data) == expected
    assert decoded(*(bytes([b]) for b in data)) == expected


def test_comments_other_fields_and_a_byte_order_mark_are_no_data():
    data = b"\xef\xbb\xbf: hello\nevent: x\nid: 7\nretry: 10\n\ndata: one\nevent: y\n\n"
    assert decoded(data) == [b"one"]
    assert decoded(*(bytes([b]) for b in data)) == [b"one"]


def test_a_byte_order_mark_later_on_is_part_of_a_field_name():
    assert decoded(b"data: a\n\n", b"\xef\xbb\xbfdata: b\n\n") == [b"a"]


def test_an_event_that_never_ends_is_no_event():
    decoder = EventDecoder()
    assert decoder.feed(b"data: a\n\ndata: half") == [b"a"]
    assert decoder.pending
    assert decoder.feed(b"\n") == []
    assert decoder.pending
    assert decoder.feed(b"\n") == [b"half"]
    assert not decoder.pending


def test_a_line_and_an_event_have_a_limit():
    decoder = EventDecoder()
    decoder.feed(b"x" * MAX_EVENT_BYTES)
    with pytest.raises(EventTooLong):
        decoder.feed(b"x")
    decoder = EventDecoder()
    lines = MAX_EVENT_BYTES // 1001
    assert decoder.feed((b"data: " + b"x" * 1000 + b"\n") * lines) == []
    with pytest.raises(EventTooLong):
        decoder.feed(b"data: " + b"x" * 1000 + b"\n")


_LINES = st.lists(
    st.sampled_from(
        [
            b"data: x",
            b"data:  y",
            b"data",
            b"data:",
            b": c",
            b"event: e",
            b"",
            b"",
            b"id: 1",
            "data: é夜".encode(),
        ]
    ),
    max_size=12,
)
_ENDS = st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=12, max_size=12)


@given(lines=_LINES, ends=_ENDS, cuts=st.lists(st.integers(0, 200), max_size=8), fast=st.booleans())
def test_any_cutting_gives_the_same_events(
    lines: list[bytes], ends: list[bytes], cuts: list[int], fast: bool
):
    data = b"".join(line + (b"\n" if fast else end) for line, end in zip(lines, ends, strict=False)) + b"\n"
    borders = sorted(min(at, len(data)) for at in cuts)
    assert decoded(*cut(data, *borders)) == decoded(*(bytes([b]) for b in data))
