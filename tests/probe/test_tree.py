import os
import signal

import pytest

from streamlanes.probe import tree as probe_tree
from trees import write_tree

FORKS_TWO = (
    "import os, signal\n"
    "pids = []\n"
    "for _ in range(2):\n"
    "    pid = os.fork()\n"
    "    if pid == 0: signal.pause()\n"
    "    pids.append(pid)\n"
    "print(os.getpid(), *pids, flush=True)\n"
    "signal.pause()\n"
)


@pytest.mark.parametrize("linux", [True, False])
def test_members_are_the_group_and_nobody_else(child, monkeypatch, linux):
    process, line = child(FORKS_TWO)
    child("import signal; print('another group', flush=True); signal.pause()")
    monkeypatch.setattr(probe_tree, "LINUX", linux)
    assert probe_tree.members(process.pid) == tuple(sorted(int(word) for word in line.split()))


@pytest.mark.parametrize("linux", [True, False])
def test_zombies_are_no_members(child, monkeypatch, linux):
    process, line = child(FORKS_TWO)
    parent, dead, alive = (int(word) for word in line.split())
    os.kill(dead, signal.SIGKILL)
    while dead in probe_tree.members(process.pid):
        pass  # the kernel delivers the signal when it likes; the parent never waits for the child
    os.kill(dead, 0)  # still there, as a zombie
    monkeypatch.setattr(probe_tree, "LINUX", linux)
    assert probe_tree.members(process.pid) == tuple(sorted((parent, alive)))


def test_a_group_that_does_not_exist_has_no_members(tmp_path):
    assert probe_tree.members(77, tmp_path) == ()


def test_a_command_with_brackets_and_spaces_does_not_shift_the_fields(tmp_path):
    root = write_tree(
        tmp_path,
        {
            "12/stat": "12 (a) S 99 (b c) S 1 77 77 0 -1",
            "5/stat": "5 (plain) R 12 77 77 0 -1",
            "6/stat": "6 (other) S 12 8 77 0 -1",
            "7/stat": "7 (dead) Z 12 77 77 0 -1",
            "net/stat": "no process",
        },
    )
    assert probe_tree.members(77, root) == (5, 12)


def test_a_process_that_ends_while_it_is_looked_at_is_left_out(tmp_path):
    root = write_tree(tmp_path, {"5/stat": "5 (a) R 1 77 77 0 -1", "6/status": "stat is gone"})
    assert probe_tree.members(77, root) == (5,)
