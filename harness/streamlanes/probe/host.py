"""What the whole host did and holds: to tell our own cost from everybody else's."""

import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from streamlanes.probe import LINUX
from streamlanes.probe.cgroup import throttled_periods

ROOT = Path("/")

_SPIN_ROUNDS = 190_000  # near 5 ms on a server CPU of 2023
_SPIN_TRIES = 30
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class HostReading:
    """Counters of the host at one time; None for what the system does not tell.

    at_ns: CLOCK_MONOTONIC.
    cpu_*_ns: summed over all CPUs since boot, in the kernel's ticks (10 ms as a rule). busy: running
    anything, without steal; softirq: a part of busy; steal: wanted to run while the hypervisor ran
    others; total: all of it with the idle time.
    slab_*_bytes, kernel_stack_bytes, page_table_bytes: the kernel's own memory, for all processes. The
    reclaimable part of slab moves by megabytes for reasons of its own (looking at 10,000 threads in /proc
    adds 24 MB), but a socket has pieces in both parts.
    socket_bytes: TCP buffers, of all processes.
    listen_overflows: connections that found an accept queue full. listen_drops: those, and others
    dropped at a listening port; one event often counts in both, so the two are not to be added.
    throttled_periods: how often a CPU quota has stopped this process's control group.
    """

    at_ns: int
    cpu_busy_ns: int | None
    cpu_steal_ns: int | None
    cpu_total_ns: int | None
    cpu_softirq_ns: int | None
    slab_bytes: int | None
    slab_unreclaimable_bytes: int | None
    kernel_stack_bytes: int | None
    page_table_bytes: int | None
    socket_bytes: int | None
    listen_overflows: int | None
    listen_drops: int | None
    throttled_periods: int | None


def read_host(root: Path = ROOT) -> HostReading:
    """The host's counters now: five small files and one a control group; never raises."""
    cpu = parse_cpu(read_text(root / "proc/stat")) if LINUX or root != ROOT else _portable_cpu()
    memory = parse_meminfo(read_text(root / "proc/meminfo"))
    tcp = parse_netstat(read_text(root / "proc/net/netstat"))
    return HostReading(
        at_ns=time.monotonic_ns(),
        cpu_busy_ns=cpu.get("busy"),
        cpu_steal_ns=cpu.get("steal"),
        cpu_total_ns=cpu.get("total"),
        cpu_softirq_ns=cpu.get("softirq"),
        slab_bytes=memory.get("Slab"),
        slab_unreclaimable_bytes=memory.get("SUnreclaim"),
        kernel_stack_bytes=memory.get("KernelStack"),
        page_table_bytes=memory.get("PageTables"),
        socket_bytes=parse_socket_bytes(read_text(root / "proc/net/sockstat")),
        listen_overflows=tcp.get("ListenOverflows"),
        listen_drops=tcp.get("ListenDrops"),
        throttled_periods=throttled_periods(root),
    )


def foreign_cpu_share(before: HostReading, after: HostReading, ours_ns: int) -> float | None:
    """The share of all CPU time between two readings that others used; None if it cannot be told.

    ours_ns: what all our processes used in that time, from their clocks. Ticks are coarse and ours_ns
    is not, so a quiet host can give a little under 0: it is not clamped.
    """
    total, busy = _total_and(before.cpu_busy_ns, after.cpu_busy_ns, before, after)
    return None if busy is None or not total else (busy - ours_ns) / total


def steal_share(before: HostReading, after: HostReading) -> float | None:
    """The share of all CPU time between two readings that the hypervisor gave to others."""
    total, steal = _total_and(before.cpu_steal_ns, after.cpu_steal_ns, before, after)
    return None if steal is None or not total else steal / total


def spin_ms(rounds: int = _SPIN_ROUNDS) -> float:
    """CPU time of a fixed piece of pure Python, in ms: the best of many tries.

    Compared with itself before and after a cell it tells that the machine has changed speed. CPU
    time, because what others took from us is measured apart; many tries, because a CPU that was idle
    came to its speed only after 50 to 75 ms (5.5 ms a try before, 3.1 ms after, on a quiet machine).
    """
    return min(spins_ms(rounds))


def spins_ms(rounds: int = _SPIN_ROUNDS) -> tuple[float, ...]:
    """CPU time of each of the tries, in ms and in their order: the first ones show the CPU waking up."""
    spent_ms = []
    for _ in range(_SPIN_TRIES):
        start_ns = time.thread_time_ns()
        left = rounds
        while left:
            left -= 1
        spent_ms.append((time.thread_time_ns() - start_ns) / 1e6)
    return tuple(spent_ms)


def read_text(path: Path) -> str:
    """A file's text; empty if it cannot be read, which every parser here takes for "not told"."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def parse_cpu(text: str, ticks_per_s: int | None = None) -> dict[str, int]:
    """busy, steal, total and softirq in ns from the first line of /proc/stat; empty if it is not there.

    The two guest columns are left out: the kernel has them in user and nice already.
    """
    words = text.partition("\n")[0].split()
    if len(words) < 9 or words[0] != "cpu":
        return {}
    tick_ns = _NS_PER_S // (ticks_per_s or os.sysconf("SC_CLK_TCK"))
    user, nice, system, idle, iowait, irq, softirq, steal = (int(word) * tick_ns for word in words[1:9])
    busy = user + nice + system + irq + softirq
    return {"busy": busy, "steal": steal, "softirq": softirq, "total": busy + idle + iowait + steal}


def parse_meminfo(text: str) -> dict[str, int]:
    """The sizes of /proc/meminfo in bytes, by name."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if len(words) == 2 and words[1] == "kB":
            found[name] = int(words[0]) * 1024
    return found


def parse_socket_bytes(text: str) -> int | None:
    """TCP's `mem` of /proc/net/sockstat, which is in pages, in bytes."""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["TCP:"] and "mem" in words:
            return int(words[words.index("mem") + 1]) * mmap.PAGESIZE
    return None


def parse_netstat(text: str) -> dict[str, int]:
    """The TcpExt counters of /proc/net/netstat: a line of names, then a line of their values."""
    rows = [line.split()[1:] for line in text.splitlines() if line.startswith("TcpExt:")]
    return dict(zip(rows[0], map(int, rows[1]), strict=False)) if len(rows) == 2 else {}


def _total_and(
    first: int | None, second: int | None, before: HostReading, after: HostReading
) -> tuple[int | None, int | None]:
    """(total CPU time between two readings, growth of one counter), None where not told."""
    if before.cpu_total_ns is None or after.cpu_total_ns is None or first is None or second is None:
        return None, None
    return after.cpu_total_ns - before.cpu_total_ns, second - first


def _portable_cpu() -> dict[str, int]:
    times = psutil.cpu_times()
    total = sum(times)
    return {"busy": round((total - times.idle) * _NS_PER_S), "total": round(total * _NS_PER_S)}
