"""The receiver: its ledger is exact, its inputs are bounded, its failures are what they are called."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from streamlanes.durable.effects import NotDone
from streamlanes.durable.posting import Caller, Refused
from streamlanes.durable.receiver import MAX_BODY_BYTES, Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def caller() -> Iterator[Caller]:
    with Caller() as made:
        yield made


def test_naive_does_it_each_time_and_guarded_once_a_key(receiver: Receiver, caller: Caller):
    for endpoint in ("naive", "guarded"):
        answers = [caller.post(f"{receiver.url}/{endpoint}", {"ref": "a"}, "k") for _ in range(3)]
        assert len(set(answers)) == (3 if endpoint == "naive" else 1)
    assert receiver.ledger("naive") == {"a": 3}
    assert receiver.ledger("guarded") == {"a": 1}
    caller.post(f"{receiver.url}/guarded", {"ref": "a"}, "another key")
    caller.post(f"{receiver.url}/guarded", {"ref": "a"})
    assert receiver.ledger("guarded") == {"a": 3}
    assert json.loads(caller.get(f"{receiver.url}/naive/ledger") or "") == {"a": 3}
    assert caller.get(f"{receiver.url}/other/ledger") is None


def test_it_can_be_asked(receiver: Receiver, caller: Caller):
    assert caller.get(f"{receiver.url}/done?ref=a") is None
    caller.post(f"{receiver.url}/naive", {"ref": "a b/ü"})
    assert caller.get(f"{receiver.url}/done?ref=a%20b%2F%C3%BC") is not None


def test_it_fails_after_its_effect_on_the_first_hit_only(caller: Caller):
    receiver = Receiver(fails_first=True)
    for endpoint in ("guarded", "naive"):
        with pytest.raises(ConnectionError):
            caller.post(f"{receiver.url}/{endpoint}", {"ref": "a"}, "k")
    assert (receiver.ledger("guarded"), receiver.ledger("naive")) == ({"a": 1}, {"a": 1})
    caller.post(f"{receiver.url}/guarded", {"ref": "a"}, "k")
    assert receiver.ledger("guarded") == {"a": 1}
    receiver.close()


def test_a_key_from_many_threads_at_once_is_one_effect(receiver: Receiver, caller: Caller):
    with ThreadPoolExecutor(16) as pool:
        answers = set(
            pool.map(lambda _: caller.post(f"{receiver.url}/guarded", {"ref": "a"}, "k"), range(64))
        )
    assert len(answers) == 1
    assert receiver.ledger("guarded") == {"a": 1}


def raw(receiver: Receiver, data: bytes) -> bytes:
    host, _, port = receiver.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(data)
        got = b""
        while piece := connection.recv(65536):
            got += piece
        return got


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"POST /naive HTTP/1.1\r\n\r\n", 411),
        (b"POST /naive HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 411),
        (b"POST /naive HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n", 411),
        (b"POST /naive HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1), 413),
        (b"POST /naive HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", 400),
        (b"POST /naive HTTP/1.1\r\ncontent-length: 9\r\n\r\n" + b"[" * 9, 400),
        (b"POST /naive HTTP/1.1\r\ncontent-length: 9\r\n\r\n" + b'{"ref":1}', 400),
        (b"POST /other HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", 404),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET /other HTTP/1.1\r\nconnection: close\r\n\r\n", 404),
    ],
)
def test_what_it_cannot_take_is_refused(receiver: Receiver, data: bytes, status: int):
    assert b" %d " % status in raw(receiver, data).splitlines()[0]
    assert not receiver.ledger("naive")


def test_nobody_listening_certainly_did_nothing(receiver: Receiver, caller: Caller):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(NotDone):
            caller.post(f"http://127.0.0.1:{free.getsockname()[1]}/", {"ref": "a"})
    with pytest.raises(Refused, match="404"):
        caller.post(f"{receiver.url}/other", {"ref": "a"})
