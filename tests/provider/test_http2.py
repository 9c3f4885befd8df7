"""HTTP/2 of the provider: the same answers in other frames, many on a connection, bounded like the rest."""

import asyncio
import contextlib
import json
import socket
import ssl
import time
from collections.abc import Iterator

import httpx
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, ResponseReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes

from serving import Serving, made_certificate
from streamlanes.provider import http2
from streamlanes.provider.http2 import Http2
from streamlanes.wire.openai import request_body

CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def up() -> Iterator[Serving]:
    made = Serving(calls=40, http2=Http2)
    yield made
    made.close()


class Caller:
    """A caller that sends what a library would not."""

    def __init__(self, up: Serving, window: int | None = None) -> None:
        self.socket = up.connect()
        self.h2 = H2Connection(H2Configuration(client_side=True))
        self.h2.initiate_connection()
        if window is not None:
            self.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.flush()

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *args: object) -> None:
        self.socket.close()

    def flush(self) -> None:
        self.socket.sendall(self.h2.data_to_send())

    def ask(self, stream: int, path: str = CHAT, content: bytes = b"", *, end: bool = True) -> None:
        head = [(":method", "POST"), (":path", path), (":scheme", "http"), (":authority", "x")]
        self.h2.send_headers(stream, head)
        while content:
            size = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if size == 0:
                self.events()
                continue
            self.h2.send_data(stream, content[:size])
            content = content[size:]
            self.flush()
        if end:
            self.h2.end_stream(stream)
        self.flush()

    def events(self) -> list[Event]:
        """What the next read brings; nothing at the end of the connection."""
        data = self.socket.recv(65_536)
        found = list(self.h2.receive_data(data)) if data else []
        self.flush()
        return found

    def until(self, kind: type[Event], stream: int = 1) -> list[Event]:
        """Everything up to the first event of this kind of this stream."""
        seen: list[Event] = []
        while not any(isinstance(each, kind) and each.stream_id == stream for each in seen):
            seen += self.events()
        return seen

    def ended(self) -> bool:
        """Whether the other side ends the connection."""
        with contextlib.suppress(ConnectionResetError):
            while self.socket.recv(65_536):
                continue
        return True


def status(events: list[Event], stream: int) -> int:
    (head,) = [e for e in events if isinstance(e, ResponseReceived) and e.stream_id == stream]
    return int(dict(head.headers)[b":status"])


def body(events: list[Event], stream: int) -> bytes:
    return b"".join(e.data for e in events if isinstance(e, DataReceived) and e.stream_id == stream)


@pytest.mark.parametrize("tls", [False, True])
def test_many_calls_come_over_one_connection_with_the_bytes_of_http_1(up: Serving, tls: bool):
    host, port = up.tls_address if tls else up.address
    context = ssl.create_default_context(cafile=made_certificate().trusted)
    url = f"{'https' if tls else 'http'}://{host}:{port}{CHAT}"

    async def one(client: httpx.AsyncClient, call: int) -> httpx.Response:
        return await client.post(url, content=request_body(f"[call {call}] hi"))

    async def main() -> list[httpx.Response]:
        async with httpx.AsyncClient(http1=False, http2=True, verify=context) as client:
            return await asyncio.gather(*(one(client, call) for call in range(20)))

    answers = asyncio.run(main())
    assert {each.http_version for each in answers} == {"HTTP/2"}
    assert [each.content for each in answers] == [up.chat(f"[call {call}] hi")[1] for call in range(20)]
    assert answers[0].headers["content-type"].startswith("text/event-stream")
    assert "transfer-encoding" not in answers[0].headers


def test_both_protocols_are_agreed_on_where_both_are_offered(up: Serving):
    context = ssl.create_default_context(cafile=made_certificate().trusted)
    for offered, agreed in ((["h2", "http/1.1"], "h2"), (["http/1.1"], "http/1.1")):
        context.set_alpn_protocols(offered)
        with (
            socket.create_connection(up.tls_address) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as caller,
        ):
            assert caller.selected_alpn_protocol() == agreed


def test_without_it_the_caller_is_refused():
    up = Serving()
    with up.connect() as caller:
        caller.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert caller.recv(65_536).startswith(b"HTTP/1.1 400 ")
    up.close()


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [("/nowhere", b"", 404), (CHAT, b"{oops", 400), (CHAT, b"x" * (http2.MAX_BODY_BYTES + 1), 413)],
    ids=["path", "body", "too large"],
)
def test_what_is_asked_wrongly_is_answered_as_over_http_1(
    up: Serving, path: str, content: bytes, expected: int
):
    with Caller(up) as caller:
        caller.ask(1, path, content)
        seen = caller.until(StreamEnded)
        assert status(seen, 1) == expected
        assert "error" in json.loads(body(seen, 1))
        caller.ask(3, content=request_body("[call 3] hi"))
        assert body(caller.until(StreamEnded, 3), 3).endswith(b"[DONE]\n\n"), "the connection goes on"


def test_bytes_that_are_no_frames_end_the_connection_and_nothing_else(up: Serving):
    with Caller(up) as caller:
        caller.ask(1, content=request_body("[call 1] hi"))
        caller.until(ResponseReceived)
        with contextlib.suppress(OSError):
            caller.socket.sendall(b"\xff" * 2 * http2.MAX_FRAMES_BYTES)
        assert caller.ended()
    assert up.chat("[call 2] hi")[0] == 200


@pytest.mark.parametrize("begun", [True, False])
def test_a_request_that_does_not_come_in_time_ends_the_connection(begun: bool):
    up = Serving(request_s=0.1, http2=Http2)
    with Caller(up) as caller:
        if begun:
            caller.ask(1, content=b"{", end=False)
        assert caller.ended()
    up.close()


def test_what_a_caller_opens_no_window_for_waits(up: Serving):
    with Caller(up, window=10) as caller:
        caller.ask(1, content=request_body("[call 5] hi"))
        seen = caller.until(DataReceived)
        assert len(body(seen, 1)) == 10
        caller.h2.increment_flow_control_window(60_000, 1)
        caller.flush()
        seen += caller.until(StreamEnded)
        assert body(seen, 1) == up.chat("[call 5] hi")[1]


def test_what_waits_is_bounded(up: Serving, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http2, "MAX_UNSENT_BYTES", 300)
    with Caller(up, window=10) as caller:
        caller.ask(1, content=request_body("[call 6] hi"))
        caller.until(StreamReset)


def test_a_caller_that_leaves_one_call_keeps_the_others():
    up = Serving(calls=4, http2=Http2, ttft_ms=50.0, gap_ms=50.0)
    with Caller(up) as caller:
        for stream in (1, 3):
            caller.ask(stream, content=request_body(f"[call {stream}] hi"))
        seen = caller.until(DataReceived, 1)
        caller.h2.reset_stream(1)
        caller.flush()
        seen += caller.until(StreamEnded, 3)
        assert body(seen, 3).endswith(b"[DONE]\n\n")
        counts = up.stats()
        assert (counts["requests"], counts["abandoned"], counts["in_flight"]) == (2, 1, 0)
    up.close()


def test_a_caller_that_goes_leaves_all_its_calls():
    up = Serving(calls=6, http2=Http2, gap_ms=600.0)
    with Caller(up) as caller:
        for stream in (1, 3, 5):
            caller.ask(stream, content=request_body(f"[call {stream}] hi"))
        caller.until(DataReceived, 5)
    while up.stats()["in_flight"]:
        time.sleep(0.005)
    assert up.stats()["abandoned"] == 3
    up.close()
