"""The event-stream decoders: acceptance cases A1 and A3, the standard's grammar, every way of cutting."""

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamlanes.wire import sse
from streamlanes.wire.openai import ChatFold
from streamlanes.wire.sse import MAX_EVENT_BYTES, EventDecoder, EventTooLong, NamedEvent, NamedEventDecoder

A1 = 'data: {"choices":[{"index":0,"delta":{"content":"crème 🦉 夜"}}]}\n\ndata: [DONE]\n\n'.encode()
A3 = (
    b'data:{"choices":[{"index":0,"delta":{"content":" two"}}]}\r\n\r\n'
    b"data:  lead\r\ndata:\r\ndata\r\ndata: tail\r\n\r\n"
)
A3_EVENTS = [b'{"choices":[{"index":0,"delta":{"content":" two"}}]}', b" lead\n\n\ntail"]


def decoded(*pieces: bytes) -> list[bytes]:
    decoder = EventDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


def named(*pieces: bytes) -> list[NamedEvent]:
    decoder = NamedEventDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


def cut(data: bytes, *after: int) -> list[bytes]:
    borders = [0, *after, len(data)]
    return [data[a:b] for a, b in itertools.pairwise(borders)]


def single(data: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in data]


def test_a1_characters_cut_between_reads():
    assert len(A1) == 85
    whole = decoded(A1)
    assert next(event.decode() for event in whole).count("crème 🦉 夜") == 1
    assert whole[1] == b"[DONE]"
    for pieces in (cut(A1, 52, 58, 63), *(cut(A1, at) for at in range(1, 85)), single(A1)):
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
    assert decoded(*single(A3)) == A3_EVENTS


def test_a3_lone_cr_ends_a_line():
    data = b'data: {"a":1}\rdata: {"b":2}\r\rdata: [DONE]\r\r'
    expected = [b'{"a":1}\n{"b":2}', b"[DONE]"]
    assert decoded(data) == expected
    assert decoded(*single(data)) == expected


def test_a_cr_at_the_end_of_a_read_takes_the_lf_of_the_next():
    assert decoded(b"data: a\r", b"\n", b"\r", b"\ndata: b\n\n") == [b"a", b"b"]
    assert decoded(b"data: a\n\r", b"\n\ndata: b\n\n") == [b"a", b"b"], "CRLF, then an empty event"
    assert decoded(b"data: a\r", b"", b"\n\n") == [b"a"]


def test_comments_and_other_fields_are_no_data():
    data = b": hello\nevent: x\nid: 7\nretry: 10\n\ndata: one\nevent: y\nunknown: z\n\n"
    assert decoded(data) == decoded(*single(data)) == [b"one"]


@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2), (3,)])
@pytest.mark.parametrize("rest", [b"data: one\n\n", b"\ndata: one\n\n"])
def test_a_byte_order_mark_is_read_over_at_the_start_alone(cuts: tuple[int, ...], rest: bytes):
    assert decoded(*cut(b"\xef\xbb\xbf" + rest, *cuts)) == [b"one"]
    assert decoded(rest, b"\xef\xbb\xbfdata: b\n\n") == [b"one"], "then it is part of a field's name"


def test_what_only_begins_like_a_byte_order_mark_is_a_field():
    assert decoded(b"\xef\xbb", b"data: a\n\ndata: b\n\n") == [b"b"]


def test_names_are_handed_out_and_hold_for_one_event():
    data = b"event: a\ndata: 1\n\nevent: b\nevent: c\ndata: 2\ndata: 3\n\n"
    data += b"data: 4\n\nevent\ndata: 5\n\nevent: d\n\n"
    expected = [(b"a", b"1"), (b"c", b"2\n3"), (b"", b"4"), (b"", b"5")]
    assert named(data) == named(*single(data)) == expected


def test_a_name_is_not_taken_for_more_than_one_line():
    data = b"event: a\nid: 1\ndata: x\n\nevent: b\ndata: y\ndata: z\n\nevent: c\n\ndata: q\n\n"
    assert named(data) == [(b"a", b"x"), (b"b", b"y\nz"), (b"", b"q")]
    for event in (
        b"event: a\nid: 1\ndata: x\n\n",
        b"event: a\nretry: 5\n\n",
        b"event: a\rid: 1\ndata: x\n\n",
    ):
        assert named(b"data: 0\n\n", event)[1:] == ([(b"a", b"x")] if b"data" in event else [])


@pytest.mark.parametrize("kind", [EventDecoder, NamedEventDecoder])
def test_the_last_id_is_that_of_the_last_event(kind: type[EventDecoder | NamedEventDecoder]):
    decoder = kind()
    decoder.feed(b"id: 1\ndata: a\n")
    assert decoder.last_id == b"", "its event is not over"
    decoder.feed(b"\n")
    assert decoder.last_id == b"1"
    decoder.feed(b"data: b\n\n")
    assert decoder.last_id == b"1", "it holds until another one comes"
    decoder.feed(b"id: 2\n\nid: 3\0\n\n")
    assert decoder.last_id == b"2", "of an event without data too; one with a NUL is none"
    decoder.feed(b"id\n\n")
    assert decoder.last_id == b""


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("10", 10),
        ("0", 0),
        ("-1", None),
        ("1.5", None),
        ("", None),
        ("x", None),
        ("9" * 5000, None),
        ("²", None),
    ],
)
def test_a_retry_is_digits_and_nothing_else(value: str, ms: int | None):
    decoder = EventDecoder()
    decoder.feed(f"retry: {value}\n".encode())
    assert decoder.retry_ms == ms


def test_an_event_that_never_ends_is_no_event():
    decoder = EventDecoder()
    assert decoder.feed(b"data: a\n\ndata: half") == [b"a"]
    assert decoder.pending
    assert decoder.feed(b"\n") == []
    assert decoder.pending
    assert decoder.feed(b"\n") == [b"half"]
    assert not decoder.pending


# The cap


def test_an_event_of_the_cap_is_let_through_and_one_byte_more_is_not():
    most = b"data: " + b"x" * (MAX_EVENT_BYTES - 6)
    for pieces in ([most + b"\n\n"], [b"data: a\n\n", most + b"\n\n"], cut(most + b"\n\n", 9, 70_000)):
        assert decoded(*pieces)[-1] == most[6:]
        with pytest.raises(EventTooLong):
            decoded(*pieces[:-1], pieces[-1][:-2] + b"x\n\n")


@pytest.mark.parametrize(
    "line", [b"x", b":", b"data: xy\n", b"data\n", b"event: e\n", b"id: 1\n", b"retry: 1\n", b"what: 1\n"]
)
def test_what_never_ends_is_an_error_before_it_fills_memory(line: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 1000)
    for kind in (EventDecoder, NamedEventDecoder):
        decoder = kind()
        for _ in range(1000 // len(line)):
            assert decoder.feed(line) == []
        with pytest.raises(EventTooLong):
            decoder.feed(line)


def test_comments_that_end_count_for_no_event(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)
    decoder = EventDecoder()
    for _ in range(50):
        assert decoder.feed(b": still here\n") == []
    assert decoder.feed(b"data: x\n\n") == [b"x"]


# How much work: counted, since a slow machine may take its time


def buffers(decoder: EventDecoder | NamedEventDecoder) -> list[bytes | bytearray]:
    """Whatever bytes the decoder keeps for the next piece."""
    names = (name for kind in type(decoder).__mro__ for name in getattr(kind, "__slots__", ()))
    kept = (getattr(decoder, name) for name in names)
    return [each for each in kept if isinstance(each, bytes | bytearray)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("kind", "lines"),
    [(EventDecoder, [b"data: "]), (NamedEventDecoder, [b"event: delta", b"data: "])],
)
def test_a_long_stream_in_small_pieces_is_kept_no_longer_than_an_event(
    kind: type[EventDecoder | NamedEventDecoder], lines: list[bytes], end: bytes
):
    """A piece costs what is kept before it: kept short, a stream takes time in line with its bytes."""
    event = end.join([*lines, b"", b""]).replace(b"data: ", b"data: " + b"x" * 180)
    count = (4 << 20) // len(event)
    stream, decoder = event * count, kind()
    found = longest = 0
    for at in range(0, len(stream), 512):
        found += len(decoder.feed(stream[at : at + 512]))
        longest = max(longest, sum(map(len, buffers(decoder))))
    assert found == count
    assert 0 < longest < len(event)


@pytest.mark.parametrize(
    "line", [b"data: " + b"x" * 65_536, b"data: 0123456789\n" * 4096], ids=["one", "many"]
)
def test_an_event_that_grows_is_not_copied_again_with_every_piece(line: bytes):
    """A buffer made anew for each piece would take time by the square of the event's length."""
    for kind in (EventDecoder, NamedEventDecoder):
        decoder = kind()
        pieces = [line[at : at + 64] for at in range(0, len(line), 64)]
        long: list[bytes | bytearray] = []  # they are held, so that no two have one identity
        for piece in pieces:
            assert decoder.feed(piece) == []
            grown = [each for each in buffers(decoder) if len(each) > 1000]
            long += [each for each in grown if not any(each is one for one in long)]
        assert len(long) == 1, f"{len(long)} buffers in {len(pieces)} pieces"
        assert len(decoder.feed(b"\n\n")) == 1


# Any cutting


def by_the_standard(data: bytes) -> tuple[list[NamedEvent], bytes, int | None]:
    """Events, last id and retry, step by step as the standard says it, with all bytes at hand."""
    events: list[NamedEvent] = []
    last_id, buffered_id, retry = b"", b"", None
    name, values = b"", []
    for line in re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf"))[:-1]:
        field, colon, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if not line:
            last_id = buffered_id
            if values:
                events.append((name, b"\n".join(values)))
            name, values = b"", []
        elif not field and colon:
            continue
        elif field == b"event":
            name = value
        elif field == b"data":
            values.append(value)
        elif field == b"id" and b"\0" not in value:
            buffered_id = value
        elif field == b"retry" and re.fullmatch(rb"[0-9]+", value):
            retry = int(value)
    return events, last_id, retry


_PARTS = st.sampled_from(
    [
        *(b"data: x\n\n", b"event: e\ndata: y\n\n", b"data: y\ndata: z\n\n", b"id: 4\ndata: w\n\n"),
        *(b"data", b"event", b"id", b"retry", b"field", b":", b": ", b" ", b"7", b"\0", "é夜".encode()),
        *(b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"\xef\xbb\xbf"),
        *(b"data: {}", b"event: e", b"data: x\r\n\r\n", b"event: e\r\ndata: y\r\n\r\n"),
    ]
)
_STREAMS = st.lists(_PARTS, max_size=14).map(b"".join)
_CUTS = st.lists(st.integers(0, 150), max_size=10)


@given(data=_STREAMS, cuts=_CUTS)
@example(data=b"data: x\n\ndata: x\n\n\ndata: x\n\n", cuts=[])
@example(data=b"event: e\ndata: y\n\nevent: e\ndata: y\ndata: z\n\nevent: e\n\n", cuts=[18])
@example(data=b"data: x\n\nid: 4\n\ndata: x\n\n", cuts=[9, 15])
def test_any_cutting_gives_what_the_standard_says(data: bytes, cuts: list[int]):
    expected, last_id, retry = by_the_standard(data)
    for pieces in (cut(data, *sorted(min(at, len(data)) for at in cuts)), single(data)):
        plain, with_names = EventDecoder(), NamedEventDecoder()
        assert [event for piece in pieces for event in plain.feed(piece)] == [text for _, text in expected]
        assert [event for piece in pieces for event in with_names.feed(piece)] == expected
        for decoder in (plain, with_names):
            assert (decoder.last_id, decoder.retry_ms) == (last_id, retry)


@given(data=_STREAMS, cuts=_CUTS)
@example(data=b"data: 123456789012345678\n\n", cuts=[])
@example(data=b"data: x\n\ndata: 123456789012345678\n\n", cuts=[9])
def test_whether_an_event_is_too_long_depends_on_no_cutting(data: bytes, cuts: list[int]):
    def too_long(kind: type[EventDecoder | NamedEventDecoder], pieces: list[bytes]) -> bool:
        decoder = kind()
        try:
            for piece in pieces:
                decoder.feed(piece)
        except EventTooLong:
            return True
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "MAX_EVENT_BYTES", 20)
        at_once = too_long(EventDecoder, single(data))
        for kind in (EventDecoder, NamedEventDecoder):
            for pieces in ([data], cut(data, *sorted(min(at, len(data)) for at in cuts)), single(data)):
                assert too_long(kind, pieces) is at_once
