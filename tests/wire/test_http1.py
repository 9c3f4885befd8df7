"""The response decoder, over every cutting of the bytes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlanes.wire.http1 import MAX_HEAD_BYTES, HttpError, ResponseDecoder, post

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKED = HEAD + b"5\r\nhello\r\n1;ext=1\r\n \r\nA\r\n0123456789\r\n0\r\n\r\n"


def fed(data: bytes, cuts: list[int]) -> tuple[bytes, ResponseDecoder]:
    decoder = ResponseDecoder()
    borders = [0, *sorted(min(at, len(data)) for at in cuts), len(data)]
    body = b"".join(decoder.feed(data[a:b]) for a, b in itertools.pairwise(borders))
    return body, decoder


@given(st.lists(st.integers(0, len(CHUNKED)), max_size=6))
def test_chunks(cuts: list[int]):
    body, decoder = fed(CHUNKED, cuts)
    assert body == b"hello 0123456789"
    assert decoder.complete
    assert decoder.status == 200


@given(st.lists(st.integers(0, 80), max_size=6))
def test_content_length(cuts: list[int]):
    body, decoder = fed(b"HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy and more", cuts)
    assert body == b"busy"
    assert decoder.complete
    assert decoder.status == 503


def test_a_message_without_its_last_chunk_is_not_complete():
    _, decoder = fed(CHUNKED[:-5], [])
    assert not decoder.complete


def test_what_has_come_of_a_chunk_is_handed_out_at_once():
    decoder = ResponseDecoder()
    reads = [HEAD + b"5\r\nhe", b"llo", b"\r", b"\n3\r", b"\nabc\r\n0\r\n", b"\r\n"]
    assert [decoder.feed(data) for data in reads] == [b"he", b"llo", b"", b"", b"abc", b""]
    assert decoder.complete


def test_nothing_is_kept_behind_the_end():
    decoder = ResponseDecoder()
    assert decoder.feed(CHUNKED + b"5\r\nagain\r\n") == b"hello 0123456789"
    assert decoder.feed(b"and again") == b""


def test_chunks_count_for_more_than_a_length_beside_them():
    both = HEAD[:-2] + b"Content-Length: 3\r\n\r\n" + CHUNKED[len(HEAD) :]
    assert fed(both, [70, 90])[0] == b"hello 0123456789"


def test_an_empty_body_is_complete_with_its_head():
    assert fed(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", [])[1].complete


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        HEAD + b"zz\r\n",
        HEAD + b"-5\r\nhello\r\n",
        HEAD + b"fffffffff\r\n",
        HEAD + b"1" * 2000,
        b"x" * (MAX_HEAD_BYTES + 1),
    ],
)
def test_what_is_no_response_is_an_error(data: bytes):
    with pytest.raises(HttpError):
        ResponseDecoder().feed(data)


def test_the_request_is_framed_by_its_length():
    head, _, body = post("127.0.0.1", "/v1/chat/completions", b"{}").partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    assert b"Content-Length: 2" in head
    assert body == b"{}"
