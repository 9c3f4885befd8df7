"""The parent's side of the launcher, against a scripted one."""

import json
import socket
from collections.abc import Iterator

import pytest

from streamlanes.children import Launcher


class Scripted:
    """A launcher whose other end the test holds."""

    def __init__(self) -> None:
        ours, self._theirs = socket.socketpair()
        self.launcher = object.__new__(Launcher)  # no process behind it
        self.launcher._socket, self.launcher._text, self.launcher._exits = ours, b"", {}

    def says(self, **message: object) -> None:
        self._theirs.sendall(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        self._theirs.close()
        self.launcher._socket.close()


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    made = Scripted()
    yield made
    made.close()


def test_a_number_that_comes_round_is_a_new_child(scripted: Scripted):
    """Thousands of threads take numbers from the same space, so a long run meets each again."""
    launcher = scripted.launcher
    scripted.says(pid=700)
    assert launcher.spawn(["one"], None, (0, 1, 2)) == 700
    scripted.says(exited=700, code=0)
    assert launcher.wait(700, 5.0) == 0
    scripted.says(pid=700)
    assert launcher.spawn(["another"], None, (0, 1, 2)) == 700
    assert launcher.wait(700, 0.0) is None, "it has just begun"
    scripted.says(exited=700, code=-9)
    assert launcher.wait(700, 5.0) == -9


def test_an_exit_that_comes_before_the_answer_is_kept(scripted: Scripted):
    scripted.says(pid=700)
    scripted.launcher.spawn(["one"], None, (0, 1, 2))
    scripted.says(exited=700, code=3)
    scripted.says(pid=701)
    assert scripted.launcher.spawn(["two"], None, (0, 1, 2)) == 701
    assert scripted.launcher.wait(700, 0.0) == 3
