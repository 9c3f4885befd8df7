"""The provider over real sockets: streams, the hold, its statistics, and bad input."""

import json
import socket

import pytest

from serving import AROUND, Serving, answer
from streamlanes.provider.connection import MAX_BODY_BYTES
from streamlanes.provider.server import listen
from streamlanes.wire.http1 import ResponseDecoder, post
from streamlanes.wire.openai import request_body
from streamlanes.wire.sse import EventDecoder


@pytest.fixture
def serving():
    up = Serving(hold=False)
    yield up
    up.close()


@pytest.fixture
def holding():
    up = Serving(hold=True)
    yield up
    up.close()


def test_a_call_gets_its_tokens_and_its_stamps(serving: Serving):
    status, body = serving.chat("[call 2] hi")
    assert status == 200
    assert len(EventDecoder().feed(body)) == AROUND + 3
    first = serving.plan.first
    assert all(serving.stamps["sent"][row] > 0 for row in range(first[2], first[3]))
    assert serving.stamps["accepted"][2] <= serving.stamps["seen"][2]
    assert serving.stamps["seen"][1] == 0
    offset = serving.plan.offset_ns
    for row in range(first[2], first[3]):
        assert serving.stamps["sent"][row] >= serving.stamps["seen"][2] + offset[row], "never early"


def test_tokens_that_are_due_at_once_go_in_one_write():
    up = Serving(hold=False, calls=1, gap_ms=0.001, tokens=50.0)
    status, body = up.chat("[call 0] hi")
    sent = list(up.stamps["sent"])
    counted = up.streams.counts.tokens
    up.close()
    assert status == 200
    assert len(EventDecoder().feed(body)) == AROUND + 50
    assert counted == 50
    assert 0 not in sent
    assert len(set(sent)) <= 2, "one write; two where a tick ends between them"


def test_without_an_index_the_next_free_call_is_taken(serving: Serving):
    serving.chat("hello")
    serving.chat("hello")
    assert serving.stamps["seen"][0] > 0
    assert serving.stamps["seen"][1] > 0


def test_a_connection_is_kept_for_the_next_request(serving: Serving):
    with serving.connect() as connection:
        for call in (0, 1):
            connection.sendall(post("x", "/v1/chat/completions", request_body(f"[call {call}] hi")))
            assert answer(connection)[0] == 200
    stats = serving.stats()
    assert stats["requests"] == 2
    assert stats["in_flight"] == 0
    assert stats["tokens"] == 6
    assert stats["lateness_ms"]["count"] == 6


def test_a_caller_that_leaves_is_counted_and_forgotten():
    up = Serving(hold=True)
    with up.connect() as connection:
        connection.sendall(post("x", "/v1/chat/completions", request_body("[call 0] hi")))
        connection.recv(10)
    for _ in range(3000):
        if up.stats()["abandoned"]:
            break
    stats = up.stats()
    up.close()
    assert stats["abandoned"] == 1
    assert stats["in_flight"] == 0


def test_the_hold_stops_after_the_first_token(holding: Serving):
    first = holding.plan.first
    with holding.connect() as connection:
        connection.sendall(post("x", "/v1/chat/completions", request_body("[call 1] hi")))
        decoder, events = ResponseDecoder(), EventDecoder()
        seen = []
        while len(seen) < 2:
            seen += events.feed(decoder.feed(connection.recv(65536)))
        assert len(seen) == 2, "role and first token"
        assert holding.stamps["sent"][first[1]] > 0
        assert holding.stamps["sent"][first[1] + 1] == 0
        assert holding.stats()["in_flight"] == 1
        status, body = holding.ask(b"POST /sim/release HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        assert (status, json.loads(body)) == (200, {"released": 1})
        while not decoder.complete:
            seen += events.feed(decoder.feed(connection.recv(65536)))
    assert seen[-1] == b"[DONE]"
    assert len(seen) == AROUND + 3


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x00\x01\x02 garbage\r\n\r\n", 400),
        (b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404),
        (b"GET /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n", 404),
        (post("x", "/v1/chat/completions", b"{"), 400),
        (post("x", "/v1/chat/completions", b"[]"), 400),
        (post("x", "/v1/chat/completions", b'{"messages": 7}'), 400),
        (post("x", "/v1/chat/completions", b'{"messages": []}'), 400),
        (post("x", "/v1/chat/completions", b"[" * 100_000), 400),
        (post("x", "/v1/chat/completions", b"\xff\xfe"), 400),
        (post("x", "/v1/chat/completions", b" " * (MAX_BODY_BYTES + 1)), 413),
    ],
)
def test_bad_input_is_a_4xx(serving: Serving, data: bytes, status: int):
    got, body = serving.ask(data)
    assert got == status
    assert "error" in json.loads(body)
    assert serving.stats()["requests"] == 0, "and it still answers"


def test_a_head_without_end_is_cut_off(serving: Serving):
    header = b"X-Header: " + b"a" * 1000 + b"\r\n"
    with serving.connect() as connection, pytest.raises((ConnectionResetError, BrokenPipeError)):
        connection.sendall(b"GET / HTTP/1.1\r\n" + header * 20_000)
    assert serving.stats()["requests"] == 0


@pytest.mark.parametrize("second", ["chat", "stats", "nowhere"])
def test_no_answer_stands_in_the_middle_of_a_stream(holding: Serving, second: str):
    request = post("x", "/v1/chat/completions", request_body("[call 0] hi"))
    more = {
        "chat": request,
        "stats": b"GET /sim/stats HTTP/1.1\r\nHost: x\r\n\r\n",
        "nowhere": b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
    }[second]
    with holding.connect() as connection:
        connection.sendall(request + more)
        received = b""
        while data := connection.recv(65536):
            received += data
    assert received.count(b"HTTP/1.1") <= 1
    assert b"400" not in received
    assert holding.stats()["in_flight"] == 0


def test_connection_close_is_honoured(serving: Serving):
    head, _, body = post("x", "/v1/chat/completions", request_body("[call 0] hi")).partition(b"\r\n\r\n")
    for request in (
        head + b"\r\nConnection: close\r\n\r\n" + body,
        head.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n\r\n" + body,
        b"GET /sim/stats HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ):
        with serving.connect() as connection:
            connection.sendall(request)
            received = b""
            while data := connection.recv(65536):
                received += data
        assert received.startswith(b"HTTP/1.1 200")


def test_a_caller_that_waits_for_100_continue_gets_it(serving: Serving):
    head, _, body = post("x", "/v1/chat/completions", request_body("[call 0] hi")).partition(b"\r\n\r\n")
    with serving.connect() as connection:
        connection.sendall(head + b"\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert answer(connection)[0] == 200


def test_a_head_request_has_no_body(serving: Serving):
    with serving.connect() as connection:
        connection.sendall(b"HEAD /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = b""
        while data := connection.recv(65536):
            received += data
    assert received.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("kind", ["chunked", "trailers"])
def test_an_upload_without_end_is_cut_off(serving: Serving, kind: str):
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    if kind == "trailers":
        head, piece = head + b"0\r\n", (b"T: " + b"x" * 1000 + b"\r\n") * 60
    with serving.connect() as connection, pytest.raises((ConnectionResetError, BrokenPipeError)):
        connection.sendall(head + piece * 300)
    assert serving.stats()["requests"] == 0


def test_a_prompt_in_parts_names_its_call_too(serving: Serving):
    parts = [{"type": "text", "text": "[call 3] hi"}, {"type": "image_url"}]
    body = json.dumps({"messages": [{"role": "user", "content": parts}]}).encode()
    serving.ask(post("x", "/v1/chat/completions", body))
    assert serving.stamps["seen"][3] > 0


def test_a_taken_port_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", [0, taken.getsockname()[1]])


def test_who_wants_no_stream_gets_a_whole_answer_when_the_last_token_is_due(serving: Serving):
    request = {"messages": [{"role": "user", "content": "[call 2] hi"}]}
    status, found = serving.send("/v1/chat/completions", request)
    assert status == 200
    assert found["object"] == "chat.completion"
    assert found["usage"]["completion_tokens"] == 3
    assert serving.stamps["seen"][2] > 0
    assert serving.stats()["in_flight"] == 0


def test_health_models_and_embeddings(serving: Serving):
    assert serving.get("/health") == (200, {"status": "ok"})
    assert serving.get("/v1/models")[1]["data"][0]["id"] == "sim"
    assert serving.get("/v1/models?limit=1", "anthropic-version: 2023-06-01")[1]["first_id"] == "sim"
    assert serving.get("/v1/models/other")[0] == 404
    assert serving.send("/v1/embeddings", {"input": "x"})[0] == 200
    assert serving.send("/v1/embeddings", {})[0] == 400
    assert serving.stats()["requests"] == 0, "none of these is an answer of the model"


def test_an_error_is_in_the_words_of_the_dialect_that_was_spoken(serving: Serving):
    assert serving.send("/v1/messages", {})[1]["type"] == "error"
    assert "type" not in serving.send("/v1/chat/completions", {})[1]
    assert serving.get("/v1/nowhere", "anthropic-version: 2023-06-01")[1]["type"] == "error"


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"])
@pytest.mark.parametrize("tls", [False, True])
def test_a_sender_that_drips_is_sent_away(begun: bytes, tls: bool):
    up = Serving(request_s=0.2)
    with up.connect(tls=tls) as connection:
        connection.sendall(begun)
        received = b""
        while data := connection.recv(65536):
            received += data
    assert received.startswith(b"HTTP/1.1 408 ")
    assert up.stats()["requests"] == 0, "and it still answers"
    up.close()


def test_a_stream_outlives_the_deadline_of_requests():
    up = Serving(request_s=0.5, ttft_ms=1.0, gap_ms=600.0)
    with up.connect() as connection:
        connection.sendall(post("x", "/v1/chat/completions", request_body("[call 0] hi")))
        decoder = ResponseDecoder()
        body = decoder.feed(connection.recv(65536))
        connection.sendall(b"GET /")  # what it begins to send meanwhile may wait
        while not decoder.complete:
            body += decoder.feed(connection.recv(65536))
    assert (decoder.status, body.count(b"data: ")) == (200, AROUND + 3)
    up.close()
