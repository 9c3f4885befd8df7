import dataclasses
import mmap
import sys

import pytest

from streamlanes.probe import host
from trees import write_tree

STAT = "cpu  100 10 50 800 40 5 15 30 20 2\ncpu0 1 1 1 1 1 1 1 1 0 0\nbtime 1\n"
MEMINFO = (
    "MemTotal:  1000 kB\nSlab:  60 kB\nSUnreclaim:  20 kB\nKernelStack:  7 kB\nPageTables:  3 kB\nHuge: 0\n"
)
SOCKSTAT = "sockets: used 12\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem 225\nUDP: inuse 0 mem 4\n"
NETSTAT = (
    "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPHPHits\n"
    "TcpExt: 0 4 6 99\n"
    "IpExt: InNoRoutes ListenDrops\n"
    "IpExt: 1 2\n"
)


def reading(**given):
    names = [field.name for field in dataclasses.fields(host.HostReading)]
    return host.HostReading(**{**dict.fromkeys(names), "at_ns": 0, **given})


def test_every_counter_is_read_from_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(host.os, "sysconf", {"SC_CLK_TCK": 100}.__getitem__)
    root = write_tree(
        tmp_path,
        {
            "proc/stat": STAT,
            "proc/meminfo": MEMINFO,
            "proc/net/sockstat": SOCKSTAT,
            "proc/net/netstat": NETSTAT,
            "proc/self/cgroup": "0::/a\n",
            "proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/a/cpu.stat": "usage_usec 5\nnr_periods 9\nnr_throttled 3\n",
        },
    )
    seen = host.read_host(root)
    tick = 10_000_000
    assert seen == host.HostReading(
        at_ns=seen.at_ns,
        cpu_busy_ns=180 * tick,  # guests are in user and nice already, steal is apart
        cpu_steal_ns=30 * tick,
        cpu_total_ns=1050 * tick,
        cpu_softirq_ns=15 * tick,
        slab_bytes=60 * 1024,
        slab_unreclaimable_bytes=20 * 1024,
        kernel_stack_bytes=7 * 1024,
        page_table_bytes=3 * 1024,
        socket_bytes=225 * mmap.PAGESIZE,
        listen_overflows=4,
        listen_drops=6,
        throttled_periods=3,
    )
    assert seen.at_ns > 0


def test_what_cannot_be_read_is_none(tmp_path):
    seen = dataclasses.asdict(host.read_host(tmp_path))
    assert seen.pop("at_ns") > 0
    assert set(seen.values()) == {None}


def test_a_kernel_without_a_counter_leaves_that_one_none(tmp_path):
    root = write_tree(
        tmp_path, {"proc/net/netstat": "TcpExt: ListenDrops\nTcpExt: 6\n", "proc/stat": "cpu  1 2 3\n"}
    )
    seen = host.read_host(root)
    assert (seen.listen_overflows, seen.listen_drops, seen.cpu_total_ns) == (None, 6, None)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_this_host_can_be_read():
    seen = host.read_host()
    assert seen.cpu_total_ns >= seen.cpu_busy_ns >= seen.cpu_softirq_ns >= 0
    assert seen.slab_bytes >= seen.slab_unreclaimable_bytes > 0
    assert seen.page_table_bytes > 0


def test_without_linux_psutil_tells_busy_and_total(monkeypatch):
    monkeypatch.setattr(host, "LINUX", False)
    seen = host.read_host()
    assert seen.cpu_total_ns > seen.cpu_busy_ns > 0
    assert seen.cpu_softirq_ns is None


def test_foreign_share_is_what_was_busy_and_not_ours():
    before = reading(cpu_busy_ns=1_000, cpu_total_ns=10_000, cpu_steal_ns=5)
    after = reading(cpu_busy_ns=1_600, cpu_total_ns=12_000, cpu_steal_ns=105)
    assert host.foreign_cpu_share(before, after, ours_ns=500) == pytest.approx(0.05)
    assert host.steal_share(before, after) == pytest.approx(0.05)


def test_a_share_below_zero_is_given_as_it_is():
    before = reading(cpu_busy_ns=0, cpu_total_ns=0)
    after = reading(cpu_busy_ns=400, cpu_total_ns=1_000)
    assert host.foreign_cpu_share(before, after, ours_ns=410) == pytest.approx(-0.01)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (reading(), reading(cpu_busy_ns=1, cpu_total_ns=2, cpu_steal_ns=0)),
        (reading(cpu_busy_ns=1, cpu_total_ns=2, cpu_steal_ns=0), reading(cpu_total_ns=4)),
        (reading(cpu_busy_ns=1, cpu_total_ns=2, cpu_steal_ns=0),) * 2,
    ],
    ids=["first not told", "second not told", "no time between"],
)
def test_shares_that_cannot_be_told_are_none(before, after):
    assert host.foreign_cpu_share(before, after, ours_ns=0) is None
    assert host.steal_share(before, after) is None


def test_spin_takes_the_best_of_its_tries(monkeypatch):
    ends = [9.0, 8.0, 4.0, 7.0] + [6.0] * 100
    times_ns = iter(
        [stamp for start, took in enumerate(ends) for stamp in (start * 10**8, start * 10**8 + took * 1e6)]
    )
    monkeypatch.setattr(host.time, "thread_time_ns", lambda: next(times_ns))
    assert host.spin_ms(rounds=1) == 4.0


def test_spins_are_told_in_their_order(monkeypatch):
    times_ns = iter([stamp for took in (9, 8, *[4] * 100) for stamp in (0, took * 10**6)])
    monkeypatch.setattr(host.time, "thread_time_ns", lambda: next(times_ns))
    assert host.spins_ms(rounds=1)[:4] == (9.0, 8.0, 4.0, 4.0)
