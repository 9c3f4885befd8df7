"""The parent's end of the launcher, where its answers decide."""

import json
import socket
import sys
from collections.abc import Iterator

import pytest

from streamlanes.children import Launcher


class Answering(Launcher):
    """A launcher without a process: what it would say is put on its socket beforehand."""

    def __init__(self) -> None:
        self._socket, self.process = socket.socketpair()
        self._text = b""
        self._exits = {}

    def says(self, *messages: dict[str, object]) -> None:
        self.process.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in messages))


@pytest.fixture
def launcher() -> Iterator[Answering]:
    made = Answering()
    yield made
    made._socket.close()
    made.process.close()


def spawn(launcher: Launcher) -> int:
    return launcher.spawn([sys.executable], None, (0, 1, 2))


def test_a_child_that_is_given_an_earlier_ones_number_has_not_ended(launcher: Answering):
    """Numbers come round after 32,768 threads, which is three cells of 10,000."""
    launcher.says({"pid": 7})
    assert spawn(launcher) == 7
    launcher.says({"exited": 7, "code": 0})
    assert launcher.wait(7, 0.0) == 0
    launcher.says({"pid": 7})
    assert spawn(launcher) == 7
    assert launcher.wait(7, 0.0) is None
    launcher.says({"exited": 7, "code": -9})
    assert launcher.wait(7, 1.0) == -9


def test_an_ending_that_is_heard_while_another_child_is_spawned_is_kept(launcher: Answering):
    launcher.says({"pid": 7})
    spawn(launcher)
    launcher.says({"exited": 7, "code": 3}, {"pid": 8})
    assert spawn(launcher) == 8
    assert (launcher.wait(7, 0.0), launcher.wait(8, 0.0)) == (3, None)
