"""Whatever bytes come: a named error or none, and no more memory than the caps allow. Seeded, bounded."""

import contextlib
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import WHOLE
from streamlanes.wire import DIALECTS, dialect, http1, sse
from streamlanes.wire.base import Decoder, ProtocolError
from streamlanes.wire.http1 import HttpError, ResponseDecoder
from streamlanes.wire.sse import EventTooLong

CAP = 400
ROUNDS = 150
EMPTY_BYTES = 1500
"""What a decoder holds at the most when it holds nothing: its own few objects."""

_WORDS = (
    *(b"data: ", b"data", b"event: ", b"id: ", b"retry: ", b":", b"\n", b"\n\n", b"\r\n", b"\r", b"\0"),
    *(b"content_block_delta", b"message_delta", b"error", b'{"choices":[{"delta":{"content":"x"}}]}'),
    *(b'{"delta":{"text":"x"}}', b'{"error":1}', b'{"usage":{}}', b"[DONE]", b"{", b"[", b'"', b"\xff"),
    *(b"x" * 90, b"\xef\xbb\xbf"),
)
_HTTP_WORDS = (
    *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 ", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 7\r\n"),
    *(b"\r\n", b"\r\n\r\n", b"\r", b"\n", b"5\r\nhello\r\n", b"f", b"0", b"ff\r\n", b"-1\r\n", b";"),
    *(b"0\r\n\r\n", b"x" * 60),
)


def noise(draw: Random, words: tuple[bytes, ...]) -> bytes:
    """Words of the grammar, random bytes between them."""
    grammar = draw.choices(words, k=60)
    return b"".join(word if draw.random() < 0.9 else draw.randbytes(draw.randint(1, 40)) for word in grammar)


def spoilt(draw: Random, text: bytes) -> bytes:
    """A good text with some of its bytes changed, gone or twice there."""
    changed = bytearray(text)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(changed))
        changed[at : at + draw.randint(0, 3)] = draw.randbytes(draw.randint(0, 3))
    return bytes(changed)


def pieces(draw: Random, data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = draw.choice((1, 2, 7, 60, 300))
        yield data[at : at + size]
        at += size


def held_bytes(decoder: object) -> int:
    """Everything that a decoder's slots hold."""
    slots = (name for kind in type(decoder).__mro__ for name in getattr(kind, "__slots__", ()))
    return sum(sys.getsizeof(getattr(decoder, name)) for name in slots)


@pytest.mark.parametrize("api", DIALECTS)
def test_no_bytes_raise_anything_but_the_named_errors(api: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", CAP)
    whole = [text for (of, _), text in WHOLE.items() if of == api]
    endings = set()
    for seed in range(ROUNDS):
        draw = Random(seed)
        spoken = dialect(api)
        decoder, fold = spoken.decoder(), spoken.fold()
        data = noise(draw, _WORDS) if seed % 2 else spoilt(draw, draw.choice(whole))
        ending = "none"
        try:
            for piece in pieces(draw, data):
                for event in decoder.feed(piece):
                    fold.add(event)
                assert held_bytes(decoder) <= EMPTY_BYTES + 3 * CAP, "an event, the last id, room"
        except (EventTooLong, ProtocolError) as error:
            ending = type(error).__name__
        endings.add(ending)
    assert endings == {"none", "EventTooLong", "ProtocolError"}, "it came to all of them"


def test_no_response_raises_anything_but_its_named_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http1, "MAX_HEAD_BYTES", CAP)
    monkeypatch.setattr(http1, "MAX_CHUNK_LINE_BYTES", CAP)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    whole = head + (b"3c\r\n" + b"x" * 60 + b"\r\n") * 3 + b"0\r\n\r\n"
    endings = set()
    for seed in range(ROUNDS):
        draw = Random(seed)
        decoder = ResponseDecoder()
        data = (head + noise(draw, _HTTP_WORDS), spoilt(draw, whole), noise(draw, _HTTP_WORDS))[seed % 3]
        ending = "none"
        try:
            for piece in pieces(draw, data):
                decoder.feed(piece)
                assert held_bytes(decoder) <= EMPTY_BYTES + CAP + 300, "a head or a line, and one read"
        except HttpError as error:
            ending = type(error).__name__
        endings.add((ending, decoder.complete))
    assert endings == {("none", False), ("none", True), ("HttpError", False)}, "it came to all of them"


CAP_IN_FULL = 128 * 1024
_ENDLESS: dict[str, Callable[[int], bytes]] = {
    "a line": lambda size: b"x" * size,
    "an event's lines": lambda size: b"data: some text\n" * (size // 16),
    "short lines": lambda size: b"data\n" * (size // 5),
    "two letters a line": lambda size: b"data:ab\n" * (size // 8),
    "lines ended by CR": lambda size: b"data: x\r" * (size // 8),
    "ids": lambda size: b"id: 1234567\n" * (size // 12),
}


@pytest.mark.parametrize("what", _ENDLESS)
@pytest.mark.parametrize("api", DIALECTS)
def test_an_endless_event_takes_no_more_memory_than_its_cap(
    api: str, what: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", CAP_IN_FULL)
    piece = _ENDLESS[what](8 * 1024)
    decoder: Decoder = dialect(api).decoder()

    def feed_on() -> None:
        for _ in range(4 * CAP_IN_FULL // len(piece)):
            decoder.feed(piece)

    tracemalloc.start()
    try:
        with pytest.raises(EventTooLong):
            feed_on()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * CAP_IN_FULL, "the event, room to grow, and the piece in hand"


_TYPES = ("error", "message_start", "message_delta", "content_block_delta")
_KEYS = st.sampled_from(
    ["choices", "delta", "content", "finish_reason", "usage", "completion_tokens", "error", "type", "message"]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "x", *_TYPES]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("api", DIALECTS)
@given(value=_JSON, name=st.sampled_from(["", *_TYPES]).map(str.encode))
def test_no_json_raises_anything_but_a_protocol_error(api: str, value: object, name: bytes):
    data = json.dumps(value).encode()
    fold = dialect(api).fold()
    with contextlib.suppress(ProtocolError):
        fold.add((name, data) if api == "anthropic" else data)
    assert fold.usage_tokens is None or fold.usage_tokens >= 0
