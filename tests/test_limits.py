import json
import math
import os
import subprocess
import sys

import pytest

from streamlanes import limits
from streamlanes.limits import Raised, raise_open_files, read_limits
from trees import write_tree

unix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")


# Raising the soft limit


def script(body):
    """Runs in a process of its own: a hard limit that was lowered cannot be raised again."""
    code = f"import json, resource\nfrom streamlanes.limits import raise_open_files\n{body}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    return json.loads(done.stdout)


@unix_only
def test_the_soft_limit_is_raised_as_far_as_needed_and_children_inherit_it():
    assert script(
        "import subprocess, sys\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 900))\n"
        "raised = raise_open_files(564)\n"
        "child = 'import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])'\n"
        "seen = int(subprocess.check_output([sys.executable, '-c', child]))\n"
        "again = raise_open_files(500)\n"
        "beyond = raise_open_files(5000)\n"
        "print(json.dumps([raised.before, raised.after, raised.reason, seen, again, beyond.after]))"
    ) == [256, 564, None, 564, None, 900]


@unix_only
def test_a_soft_limit_at_the_hard_one_is_left_alone():
    assert (
        script(
            "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\nprint(json.dumps(raise_open_files(564)))"
        )
        is None
    )


@unix_only
def test_a_system_that_refuses_is_reported(monkeypatch):
    def refuse(which, wanted):
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(limits.resource, "getrlimit", lambda which: (256, limits.resource.RLIM_INFINITY))
    monkeypatch.setattr(limits.resource, "setrlimit", refuse)
    raised = raise_open_files(20_000)
    assert raised == Raised(before=256, after=256, reason=raised.reason)
    assert "20000" in raised.reason


# Reading the limits


def test_limits_are_read_from_their_files(tmp_path):
    root = write_tree(
        tmp_path,
        {
            "proc/sys/kernel/threads-max": "1000\n",
            "proc/loadavg": "0.17 0.07 0.02 1/84 4029\n",
            "proc/sys/kernel/pid_max": "32768\n",
            "proc/sys/vm/max_map_count": "65530\n",
            "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
            "proc/sys/net/ipv4/ip_local_reserved_ports": "8080,40000-40009\n",
            "proc/sys/net/core/somaxconn": "4096\n",
            "proc/meminfo": "MemTotal: 900 kB\nMemAvailable: 700 kB\n",
            "proc/self/uid_map": "0 0 4294967295\n",
            "proc/self/status": "Uid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\n",
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/pids.max": "512\n",
            "sys/fs/cgroup/pids.current": "12\n",
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/memory.max": "409600\n",
            "sys/fs/cgroup/memory.current": "102400\n",
        },
    )
    found = read_limits(root)
    assert (found.threads_max, found.threads_now, found.pid_max) == (1000, 84, 32768)
    assert (found.map_count_max, found.somaxconn) == (65530, 4096)
    assert found.ports == 28232 - 10
    assert (found.pids_max, found.pids_now, found.cpus_quota) == (512, 12, 1.5)
    assert found.memory_available_bytes == 307_200
    assert found.nproc_exempt
    assert found.unread == ()


def test_what_cannot_be_read_is_none_and_named(tmp_path):
    found = read_limits(tmp_path)
    assert found.threads_max is found.ports is found.memory_available_bytes is None
    assert {"threads_max", "ports", "memory_available_bytes", "nproc_exempt"} <= set(found.unread)


def test_this_machine_can_be_read():
    found = read_limits()
    assert found.cpus_affinity >= 1
    assert found.memory_available_bytes > 1 << 20
    if sys.platform == "linux":
        assert found.ports > 0
        assert found.threads_now >= 1
        assert math.isfinite(found.threads_max)


@pytest.mark.parametrize(
    ("status", "uid_map", "exempt"),
    [
        ("Uid:\t0\t0\nCapEff:\t0000000000000000", "0 0 4294967295", True),
        ("Uid:\t1000\t1000\nCapEff:\t0000000000000000", "0 0 4294967295", False),
        ("Uid:\t1000\t1000\nCapEff:\t0000000001000000", "0 0 4294967295", True),
        ("Uid:\t1000\t1000\nCapEff:\t0000000000200000", "0 0 4294967295", True),
        ("Uid:\t0\t0\nCapEff:\t000001ffffffffff", "0 1000 1", False),
    ],
    ids=["root", "a user", "CAP_SYS_RESOURCE", "CAP_SYS_ADMIN", "root of a user namespace"],
)
def test_who_is_exempt_from_nproc(tmp_path, monkeypatch, status, uid_map, exempt):
    root = write_tree(
        tmp_path,
        {
            "proc/self/status": status + "\n",
            "proc/self/uid_map": uid_map + "\n",
            "proc/7/status": "Name:\ta: b\nUid:\t42\t0\nThreads:\t5\n",
            "proc/8/status": "Uid:\t42\t42\nThreads:\t2\n",
            "proc/9/status": "Uid:\t1\t42\nThreads:\t1\n",
        },
    )
    monkeypatch.setattr(limits, "_rlimit", lambda name: (100, 200))
    monkeypatch.setattr(limits.os, "getuid", lambda: 42, raising=False)
    found = read_limits(root)
    assert (found.nproc, found.nproc_exempt) == (100, exempt)
    assert found.nproc_now == (None if exempt else 7)


@pytest.mark.parametrize(
    ("reserved", "ports"), [("", 100), ("1000", 99), ("1,990-1004,1099-2000,1003", 94), ("1-999,1100", 100)]
)
def test_reserved_ports_are_counted_once_and_only_inside_the_range(reserved, ports):
    assert limits.parse_ports("1000 1099\n", reserved + "\n") == ports


@unix_only
def test_unlimited_is_none(monkeypatch):
    monkeypatch.setattr(limits.resource, "getrlimit", lambda which: (7, limits.resource.RLIM_INFINITY))
    found = read_limits()
    assert (found.nofile_soft, found.nofile_hard) == (7, None)
