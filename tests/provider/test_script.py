"""What each fault looks like in bytes and in time: read back with the clients' own decoders."""

import gzip
import json
import zlib
from dataclasses import replace
from typing import Any

import pytest

from streamlanes.provider import script
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.chat import chat
from streamlanes.provider.faults import STATUSES, Fault, strikes_before
from streamlanes.provider.frames import call_id, said
from streamlanes.provider.messages import messages
from streamlanes.provider.script import Call
from streamlanes.provider.writes import Then, Write
from streamlanes.wire.http1 import ResponseDecoder
from streamlanes.wire.openai import ChatFold
from streamlanes.wire.sse import EventDecoder

TOKENS = 12
GAP_NS = 10_000_000
CALL = Call(
    call=5,
    call_id=call_id(5),
    frames=chat(usage=False, padding=False),
    prompt_tokens=3,
    offsets_ns=[(k + 1) * GAP_NS for k in range(TOKENS)],
)
HALF = Behaviour(at=0.5)
STRUCK = 6
"""Before this one of twelve events HALF strikes."""
WHOLE_STREAMS = (
    None,
    Fault.SLOW_HEADERS,
    Fault.STALL,
    Fault.LONG_LINE,
    Fault.SPLIT_CHARACTERS,
    Fault.CRLF,
    Fault.COMMENTS,
    Fault.GZIP,
)


def made(fault: Fault | None, behaviour: Behaviour = HALF, call: Call = CALL, **how: bool) -> list[Write]:
    return list(script.stream(call, fault, behaviour, **how))


def read(writes: list[Write]) -> tuple[ResponseDecoder, bytes]:
    """The message and its body."""
    decoder = ResponseDecoder()
    return decoder, decoder.feed(b"".join(write.data for write in writes))


def texts(body: bytes) -> list[str]:
    found = []
    for event in EventDecoder().feed(body):
        if event != b"[DONE]":
            choices = json.loads(event)["choices"]
            found += [choice["delta"]["content"] for choice in choices if choice["delta"].get("content")]
    return found


def folded(body: bytes) -> tuple[int, ChatFold]:
    fold = ChatFold()
    return sum(fold.add(event) for event in EventDecoder().feed(body)), fold


@pytest.mark.parametrize("fault", [None, *Fault])
@pytest.mark.parametrize("frames", [CALL.frames, messages()])
@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("tokens", [1, 2, TOKENS])
def test_every_answer_ends_once_and_never_goes_back_in_time(fault, frames, size: int, tokens: int):
    call = replace(CALL, frames=frames, offsets_ns=CALL.offsets_ns[:tokens], gzip=True)
    writes = made(fault, Behaviour(at=0.5, tokens_per_chunk=size), call)
    assert [write.due_ns for write in writes] == sorted(write.due_ns for write in writes)
    *before, last = writes
    assert last.then is not Then.MORE
    assert {write.then for write in before} <= {Then.MORE}
    assert sum(write.tokens for write in writes) <= tokens
    decoder, _ = read(writes)
    assert decoder.complete == (last.then is Then.END)


@pytest.mark.parametrize("fault", WHOLE_STREAMS)
def test_what_is_only_unusual_brings_every_token_and_its_end(fault: Fault | None):
    call = replace(CALL, gzip=True)
    writes = made(fault, call=call)
    decoder, body = read(writes)
    assert decoder.status == 200
    body = gzip.decompress(body) if fault is Fault.GZIP else body
    count, fold = folded(body)
    assert (count, fold.done, fold.finish_reason) == (TOKENS, True, "stop")
    assert sum(write.tokens for write in writes) == TOKENS
    assert writes[-1].then is Then.END


@pytest.mark.parametrize("fault", [None, Fault.CRLF, Fault.COMMENTS, Fault.SPLIT_CHARACTERS, Fault.GZIP])
def test_each_token_is_whole_when_it_is_due(fault: Fault | None):
    due = [write.due_ns for write in made(fault) if write.tokens]
    assert due == CALL.offsets_ns


@pytest.mark.parametrize("fault", STATUSES)
def test_a_refusal_is_a_whole_response_at_once(fault: Fault):
    (write,) = made(fault)
    assert (write.due_ns, write.tokens, write.then) == (0, 0, Then.END)
    decoder, body = read([write])
    assert decoder.status == STATUSES[fault]
    assert json.loads(body)["error"]["message"]
    assert (b"\r\nRetry-After: 1\r\n" in write.data) == (fault is Fault.STATUS_429_RETRY_AFTER)


def test_a_refusal_is_in_the_words_of_its_dialect():
    (write,) = made(Fault.STATUS_529, call=replace(CALL, frames=messages()))
    content = json.loads(read([write])[1])
    assert content["type"] == "error"
    assert content["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize(
    ("fault", "then"),
    [
        (Fault.ERROR, Then.END),
        (Fault.CUT_BETWEEN, Then.END),
        (Fault.CUT_INSIDE, Then.CLOSE),
        (Fault.RESET, Then.RESET),
    ],
)
def test_what_breaks_off_does_so_when_the_struck_event_is_due(fault: Fault, then: Then):
    writes = made(fault)
    decoder, body = read(writes)
    assert texts(body[: body.rindex(b"\n\n") + 2] if fault is not Fault.ERROR else _cut_error(body)) == [
        said(5, k, 1) for k in range(STRUCK)
    ]
    assert writes[-1].due_ns == CALL.offsets_ns[STRUCK]
    assert writes[-1].then is then
    assert decoder.complete == (then is Then.END)
    assert b"[DONE]" not in body
    assert b'"stop"' not in body


def _cut_error(body: bytes) -> bytes:
    count, fold = folded(body)
    assert count == STRUCK
    assert isinstance(fold.error, dict)
    return body[: body.index(b'data: {"error"')]


def test_half_an_event_is_left_where_the_connection_is_cut_inside():
    decoder, body = read(made(Fault.CUT_INSIDE))
    events = EventDecoder()
    assert len(events.feed(body)) == 1 + STRUCK
    assert events.pending
    assert not decoder.complete


def test_a_stream_without_its_sentinel_says_that_the_model_ended():
    decoder, body = read(made(Fault.NO_DONE))
    count, fold = folded(body)
    assert (count, fold.finish_reason, fold.done) == (TOKENS, "stop", False)
    assert decoder.complete
    _, body = read(made(Fault.NO_DONE, call=replace(CALL, frames=messages())))
    assert b"message_delta" in body
    assert b"message_stop" not in body


def test_slow_headers_hold_everything_back_and_then_send_what_was_due():
    first, *rest = made(Fault.SLOW_HEADERS, Behaviour(slow_headers_ms=65))
    assert first.due_ns == 65_000_000
    assert first.tokens == 6
    assert [write.due_ns for write in rest] == CALL.offsets_ns[6:]


def test_a_stall_makes_all_that_follows_later():
    due = [write.due_ns for write in made(Fault.STALL, Behaviour(at=0.5, stall_ms=500))]
    assert due == [at + (500_000_000 if k >= STRUCK else 0) for k, at in enumerate(CALL.offsets_ns)]


def test_a_long_line_is_as_long_as_it_was_asked_for():
    _, body = read(made(Fault.LONG_LINE, Behaviour(at=0.5, long_line_bytes=100_000)))
    found = texts(body)
    assert [len(text) == 100_000 for text in found] == [k == STRUCK for k in range(TOKENS)]
    assert max(map(len, body.split(b"\n"))) > 100_000


def test_characters_are_cut_between_writes():
    writes = made(Fault.SPLIT_CHARACTERS)
    cut = [read(writes[: k + 1])[1] for k in range(len(writes) - 1)]
    halves = [body for body in cut if not _is_text(body)]
    assert len(halves) == TOKENS - 1, "all but the first, whose halves are sent together"
    _, body = read(writes)
    assert texts(body) == [script.SPLIT_TEXT] * TOKENS


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_line_ends_are_crlf_and_cut_in_two():
    writes = made(Fault.CRLF)
    _, body = read(writes)
    assert body.count(b"\r\n") == body.count(b"\n") == 2 * (1 + TOKENS + 2)
    for k in range(len(writes) - 1):
        assert read(writes[: k + 1])[1].endswith(b"\n\r"), "the rest comes with the next write"


def test_comments_come_halfway():
    writes = made(Fault.COMMENTS)
    _, body = read(writes)
    assert body.startswith(script.COMMENT)
    assert body.count(script.COMMENT) == 1 + TOKENS + 2
    assert [write.due_ns for write in writes if not write.tokens] == [
        at - GAP_NS // 2 for at in CALL.offsets_ns
    ]


def test_compressed_pieces_can_be_read_as_they_come():
    writes = made(Fault.GZIP, call=replace(CALL, gzip=True))
    assert b"Content-Encoding: gzip" in writes[0].data
    decoder, unpacked, squeezed = ResponseDecoder(), b"", zlib.decompressobj(wbits=31)
    for k, write in enumerate(writes):
        unpacked += squeezed.decompress(decoder.feed(write.data))
        assert len(texts(unpacked)) == k + 1
    assert squeezed.eof


def test_nothing_is_compressed_for_who_does_not_accept_it():
    assert made(Fault.GZIP) == made(None)


@pytest.mark.parametrize("size", [2, 5, 12, 50])
def test_several_tokens_come_in_a_chunk_when_the_last_of_them_is_due(size: int):
    writes = made(None, Behaviour(tokens_per_chunk=size))
    counts = [write.tokens for write in writes]
    assert sum(counts) == TOKENS
    assert set(counts[:-1]) <= {size}
    due, at = [], 0
    for count in counts:
        at += count
        due.append(CALL.offsets_ns[at - 1])
    assert [write.due_ns for write in writes] == due
    _, body = read(writes)
    assert "".join(texts(body)) == said(5, 0, TOKENS)
    assert len(texts(body)) == len(counts)


def test_apart_a_call_can_be_held_anywhere():
    writes = made(None, Behaviour(tokens_per_chunk=TOKENS), apart=True)
    assert [write.tokens for write in writes] == [0, TOKENS, 0, 0]
    assert read(writes)[1] == read(made(None, Behaviour(tokens_per_chunk=TOKENS)))[1]


def test_where_it_strikes_is_drawn_for_each_call():
    def count(call: int) -> int:
        _, body = read(made(Fault.CUT_BETWEEN, Behaviour(), replace(CALL, call=call)))
        return len(texts(body))

    found = [count(call) for call in range(30)]
    assert found == [strikes_before(1, call, TOKENS, None) for call in range(30)]
    assert len(set(found)) > 5


# Answers that are not streamed


def whole(fault: Fault | None) -> list[Write]:
    return list(script.whole(CALL, fault, Behaviour(slow_headers_ms=900, stall_ms=300)))


def test_a_whole_answer_is_due_with_its_last_token():
    (write,) = whole(None)
    assert write.due_ns == CALL.offsets_ns[-1]
    content: dict[str, Any] = json.loads(read([write])[1])
    assert content["choices"][0]["message"]["content"] == said(5, 0, TOKENS)
    assert content["usage"]["completion_tokens"] == TOKENS


@pytest.mark.parametrize(
    ("fault", "due_ms", "then"),
    [
        (Fault.SLOW_HEADERS, 900, Then.END),
        (Fault.STALL, 420, Then.END),
        (Fault.RESET, 120, Then.RESET),
        (Fault.STATUS_500, 0, Then.END),
        (Fault.CRLF, 120, Then.END),
    ],
)
def test_faults_of_a_whole_answer(fault: Fault, due_ms: int, then: Then):
    (write,) = whole(fault)
    assert (write.due_ns, write.then) == (due_ms * 1_000_000, then)
