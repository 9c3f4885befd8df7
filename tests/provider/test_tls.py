"""The provider over TLS: the same bytes, the same stamps, and callers that break off in a handshake."""

import contextlib
import socket

import pytest

from serving import AROUND, Serving, answer
from streamlanes.wire.http1 import post
from streamlanes.wire.openai import request_body
from streamlanes.wire.sse import EventDecoder

CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
"""The beginning of a handshake."""


@pytest.fixture
def serving():
    up = Serving()
    yield up
    up.close()


def test_a_call_gets_the_bytes_of_a_plain_one(serving: Serving):
    assert serving.chat("[call 2] hi", tls=True) == serving.chat("[call 2] hi")
    first = serving.plan.first
    assert all(serving.stamps["sent"][row] > 0 for row in range(first[2], first[3]))
    assert serving.stamps["accepted"][2] <= serving.stamps["seen"][2]


def test_a_connection_is_kept_for_the_next_request(serving: Serving):
    with serving.connect(tls=True) as connection:
        for call in (0, 1):
            connection.sendall(post("x", "/v1/chat/completions", request_body(f"[call {call}] hi")))
            status, body = answer(connection)
            assert status == 200
            assert len(EventDecoder().feed(body)) == AROUND + 3
    assert serving.stats()["requests"] == 2


def test_a_caller_that_leaves_is_counted_and_forgotten():
    up = Serving(hold=True)
    with up.connect(tls=True) as connection:
        connection.sendall(post("x", "/v1/chat/completions", request_body("[call 0] hi")))
        connection.recv(10)
    for _ in range(3000):
        if up.stats()["abandoned"]:
            break
    stats = up.stats()
    up.close()
    assert stats["abandoned"] == 1
    assert stats["in_flight"] == 0


@pytest.mark.parametrize("data", [b"", CLIENT_HELLO, b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100_000])
def test_who_does_not_finish_a_handshake_harms_nobody(serving: Serving, data: bytes, capfd):
    callers = [socket.create_connection(serving.tls_address, timeout=30) for _ in range(20)]
    for caller in callers:
        try:
            caller.sendall(data)
        except ConnectionError:
            continue  # turned away already
    assert serving.chat("[call 1] hi", tls=True)[0] == 200
    for caller in callers:
        caller.close()
    assert serving.chat("[call 1] hi", tls=True)[0] == 200
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("begun", [b"", CLIENT_HELLO])
def test_a_handshake_that_does_not_come_to_its_end_is_sent_away(begun: bytes, capfd):
    up = Serving(handshake_s=0.2)
    callers = [socket.create_connection(up.tls_address, timeout=30) for _ in range(3)]
    for caller in callers:
        caller.sendall(begun)
    for caller in callers:
        with contextlib.suppress(ConnectionResetError):
            assert caller.recv(65536) == b"", "nothing was agreed that an answer could be said in"
        caller.close()
    assert up.chat("[call 1] hi")[0] == 200, "and it still answers"
    assert up.stats()["requests"] == 1
    up.close()
    assert "Traceback" not in capfd.readouterr().err


def test_a_stop_with_open_connections_ends_them():
    up = Serving(hold=True)
    with up.connect(tls=True) as connection:
        connection.sendall(post("x", "/v1/chat/completions", request_body("[call 0] hi")))
        assert connection.recv(10)
        up.close()
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                pass
