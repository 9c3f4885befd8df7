"""Faults over real sockets: how the connection ends, what is stamped, what is counted."""

import contextlib
import ssl

import pytest

from serving import AROUND, Serving, answer
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.faults import Fault
from streamlanes.wire.http1 import ResponseDecoder, post
from streamlanes.wire.openai import request_body
from streamlanes.wire.sse import EventDecoder

CHAT = post("x", "/v1/chat/completions", request_body("[call 0] hi"))
TOKENS = 6


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def tls(request: pytest.FixtureRequest) -> bool:
    return request.param


def failing(fault: Fault, **more: object) -> Serving:
    behaviour = Behaviour(faults={fault: 1.0}, at=0.5, slow_headers_ms=50, stall_ms=50, **more)
    return Serving(behaviour=behaviour, tokens=float(TOKENS), gap_ms=5.0)


def test_a_reset_comes_after_what_was_sent_before_it(tls: bool):
    up = failing(Fault.RESET)
    decoder, events = ResponseDecoder(), EventDecoder()
    seen = []
    with up.connect(tls=tls) as connection, contextlib.suppress(ConnectionResetError, ssl.SSLEOFError):
        connection.sendall(CHAT)
        while data := connection.recv(65536):
            seen += events.feed(decoder.feed(data))
        pytest.fail("it ended well")
    assert len(seen) == 1 + TOKENS // 2
    stats = up.stats()
    up.close()
    assert (stats["in_flight"], stats["abandoned"]) == (0, 0)
    assert stats["faults"] == {"reset": 1}
    assert stats["tokens"] == TOKENS // 2


def test_a_cut_is_an_orderly_end_of_the_connection(tls: bool):
    up = failing(Fault.CUT_INSIDE)
    with up.connect(tls=tls) as connection:
        connection.sendall(CHAT)
        status, body = answer(connection)
        assert connection.recv(100) == b""
    events = EventDecoder()
    assert (status, len(events.feed(body)), events.pending) == (200, 1 + TOKENS // 2, True)
    up.close()


def test_a_connection_lives_on_behind_an_answer_that_ended_well(tls: bool):
    for fault in (Fault.STATUS_429, Fault.ERROR, Fault.CUT_BETWEEN, Fault.NO_DONE):
        up = failing(fault)
        with up.connect(tls=tls) as connection:
            for _ in range(2):
                connection.sendall(CHAT)
                assert answer(connection)[0] == (429 if fault is Fault.STATUS_429 else 200)
        assert up.stats()["faults"] == {fault.value: 2}
        up.close()


@pytest.mark.parametrize("fault", [Fault.STALL, Fault.SLOW_HEADERS])
def test_what_waits_is_stamped_when_it_is_sent(fault: Fault):
    up = failing(fault)
    assert answer_of(up)[0] == 200
    sent, seen = list(up.stamps["sent"])[:TOKENS], up.stamps["seen"][0]
    due = [seen + offset for offset in up.plan.offset_ns[:TOKENS]]
    late = [at - when >= 0 for at, when in zip(sent, due, strict=True)]
    assert all(late), "never early"
    assert sent == sorted(sent)
    struck = TOKENS // 2 if fault is Fault.STALL else 0
    assert sent[struck] >= seen + 50_000_000
    assert up.stats()["lateness_ms"]["count"] == TOKENS
    up.close()


def answer_of(up: Serving) -> tuple[int, bytes]:
    return up.ask(CHAT)


def test_a_caller_that_leaves_a_faulted_stream_is_counted_once():
    up = failing(Fault.STALL)
    up.streams.behaviour = Behaviour(faults={Fault.STALL: 1.0}, at=0.5, stall_ms=3_000_000)
    with up.connect() as connection:
        connection.sendall(CHAT)
        connection.recv(100)
    for _ in range(3000):
        if up.stats()["abandoned"]:
            break
    stats = up.stats()
    assert (stats["abandoned"], stats["in_flight"]) == (1, 0)
    up.close()


def test_a_very_long_line_goes_out_whole_past_a_slow_reader(tls: bool):
    up = failing(Fault.LONG_LINE, long_line_bytes=3_000_000)
    with up.connect(tls=tls) as connection:
        connection.sendall(CHAT)
        decoder, size = ResponseDecoder(), 0
        while not decoder.complete:
            size += len(decoder.feed(connection.recv(4096)))
    assert size > 3_000_000
    up.close()


def test_chunks_of_several_tokens_stamp_each_of_them():
    up = Serving(behaviour=Behaviour(tokens_per_chunk=4), tokens=10.0, gap_ms=5.0)
    status, body = up.chat("[call 1] hi")
    assert (status, len(EventDecoder().feed(body))) == (200, AROUND + 3)
    first = up.plan.first
    sent = list(up.stamps["sent"])[first[1] : first[2]]
    assert [len(set(sent[at : at + 4])) for at in (0, 4, 8)] == [1, 1, 1]
    assert len(set(sent)) == 3
    assert up.stats()["tokens"] == 10
    up.close()


def test_a_held_call_of_chunks_stops_after_its_first_one():
    up = Serving(hold=True, behaviour=Behaviour(tokens_per_chunk=2, faults={Fault.RESET: 1.0}), tokens=6.0)
    with up.connect() as connection:
        connection.sendall(CHAT)
        decoder, events, seen = ResponseDecoder(), EventDecoder(), []
        while len(seen) < 2:
            seen += events.feed(decoder.feed(connection.recv(65536)))
        assert up.stats()["tokens"] == 2
        up.ask(post("x", "/sim/release", b""))
        while not decoder.complete:
            seen += events.feed(decoder.feed(connection.recv(65536)))
    assert len(seen) == AROUND + 3
    assert up.stats()["faults"] == {}, "no call fails that is to be held"
    up.close()
