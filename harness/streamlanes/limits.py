"""What this machine allows a process to have: read (and raised) here, compared in `preflight`."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from streamlanes.backends import cpus
from streamlanes.probe import LINUX, cgroup
from streamlanes.probe.host import parse_meminfo

if sys.platform != "win32":
    import resource

ROOT = Path("/")
MIN_CPUS_TO_PART = 4
"""From how many usable CPUs on the provider gets some of its own."""
MIN_CPUS_TO_PART = 4

_T = TypeVar("_T")

# capability numbers of Linux; either lifts RLIMIT_NPROC
_CAP_SYS_ADMIN, _CAP_SYS_RESOURCE = 21, 24


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of this process and its machine. None: no such limit, or listed in `unread`.

    nofile_*: open files a process. nproc: processes and threads of this user (RLIMIT_NPROC, soft),
    with nproc_exempt when the kernel does not apply it to us (root, or a capability lifts it) and
    nproc_now in use, as far as they can be seen. pids_*: of the control group with the least room.
    threads_*, pid_max: processes and threads of the whole machine. map_count_max: mappings a process.
    address_space_bytes: reported only; how much a thread reserves is the allocator's choice, so a
    run measures it. ports: source ports to one address and port. somaxconn: a listener's queue.
    cpus_affinity, cpus_quota: CPUs we may run on, and CPUs' worth of time. memory_available_bytes:
    what can still be used without swapping, here and below the control groups' limits.
    unread: names of fields the system would not tell.
    """

    nofile_soft: int | None = None
    nofile_hard: int | None = None
    nproc: int | None = None
    nproc_now: int | None = None
    nproc_exempt: bool = False
    pids_max: int | None = None
    pids_now: int | None = None
    threads_max: int | None = None
    threads_now: int | None = None
    pid_max: int | None = None
    map_count_max: int | None = None
    address_space_bytes: int | None = None
    ports: int | None = None
    somaxconn: int | None = None
    cpus_affinity: int | None = None
    cpus_quota: float | None = None
    memory_available_bytes: int | None = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Raised:
    """The soft limit of open files before and after; `reason` says why it stayed where it was."""

    before: int
    after: int
    reason: str | None = None


def read_limits(root: Path = ROOT) -> Limits:
    """This machine's limits now; fails for nothing, see `unread`."""
    unread: list[str] = []

    def tried(field: str, read: Callable[[], _T]) -> _T | None:
        try:
            return read()
        except (OSError, ValueError, IndexError, KeyError):
            unread.append(field)
            return None

    def number(field: str, path: str) -> int | None:
        return tried(field, lambda: int((root / path).read_text()))

    room = cgroup.pids_room(root)
    exempt = tried("nproc_exempt", lambda: _nproc_exempt(root)) or False
    nproc = _rlimit("RLIMIT_NPROC")[0]
    nofile_soft, nofile_hard = _rlimit("RLIMIT_NOFILE")
    counted = nproc is not None and not exempt
    return Limits(
        nofile_soft=nofile_soft,
        nofile_hard=nofile_hard,
        nproc=nproc,
        nproc_now=tried("nproc_now", lambda: user_threads(root, os.getuid())) if counted else None,
        nproc_exempt=exempt,
        pids_max=room[0] if room else None,
        pids_now=room[1] if room else None,
        threads_max=number("threads_max", "proc/sys/kernel/threads-max"),
        threads_now=tried("threads_now", lambda: parse_threads_now((root / "proc/loadavg").read_text())),
        pid_max=number("pid_max", "proc/sys/kernel/pid_max"),
        map_count_max=number("map_count_max", "proc/sys/vm/max_map_count"),
        address_space_bytes=_rlimit("RLIMIT_AS")[0],
        ports=tried("ports", lambda: read_ports(root)),
        somaxconn=number("somaxconn", "proc/sys/net/core/somaxconn"),
        cpus_affinity=cpus(),
        cpus_quota=cgroup.cpu_quota(root),
        memory_available_bytes=tried("memory_available_bytes", lambda: read_memory_available(root)),
        unread=tuple(unread),
    )


@dataclass(frozen=True)
class CpuSets:
    """Which CPUs cell and provider run on: apart from 4 usable ones on (rule 12), else None: shared."""

    cell: tuple[int, ...] | None
    provider: tuple[int, ...] | None

    @property
    def provider_processes(self) -> int:
        """One for each CPU of its own, one where it shares."""
        return len(self.provider) if self.provider else 1

    @property
    def workers(self) -> int:
        """How many processes can run at once in a cell."""
        return max(1, usable_cpus() - len(self.provider or ()))


def cpu_sets() -> CpuSets:
    """A quarter of the usable CPUs for the provider."""
    usable = usable_cpus()
    if usable < MIN_CPUS_TO_PART or not hasattr(os, "sched_getaffinity"):
        return CpuSets(None, None)
    numbers = sorted(os.sched_getaffinity(0))
    share = usable // 4
    return CpuSets(tuple(numbers[share:]), tuple(numbers[:share]))


def usable_cpus() -> int:
    """Whole CPUs this process can use at once: affinity and cpuset, or a smaller quota."""
    quota = cgroup.cpu_quota(ROOT)
    return cpus() if quota is None else max(1, min(cpus(), int(quota)))


def raise_open_files(need: int) -> Raised | None:
    """Raise this process's soft limit of open files to `need`, at most to the hard limit.

    None when it is enough already, or can be no higher. No more than needed is taken, since some
    programs walk all numbers up to the limit when they start another. Children inherit it.
    """
    if sys.platform == "win32":
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = need if hard == resource.RLIM_INFINITY else min(need, hard)
    if soft == resource.RLIM_INFINITY or soft >= target:
        return None
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    except (OSError, ValueError) as error:  # macOS refuses more than kern.maxfilesperproc
        return Raised(before=soft, after=soft, reason=f"the system refused {target} open files: {error}")
    return Raised(before=soft, after=target)


def parse_threads_now(loadavg: str) -> int:
    """Processes and threads of the machine, from the "running/all" field of /proc/loadavg."""
    return int(loadavg.split()[3].split("/")[1])


def parse_ports(local_range: str, reserved: str) -> int:
    """How many source ports the kernel may choose from: the range without the reserved ones.

    reserved: single ports and ranges by comma, `8080,9000-9010`; may lie outside the range.
    """
    first, last = (int(word) for word in local_range.split())
    taken: set[int] = set()
    for item in filter(None, reserved.strip().split(",")):
        low, _, high = item.partition("-")
        taken.update(range(max(first, int(low)), min(last, int(high or low)) + 1))
    return last - first + 1 - len(taken)


def read_ports(root: Path) -> int:
    folder = root / "proc/sys/net/ipv4"
    reserved = folder / "ip_local_reserved_ports"
    return parse_ports(
        (folder / "ip_local_port_range").read_text(), reserved.read_text() if reserved.exists() else ""
    )


def read_memory_available(root: Path) -> int:
    """The smaller of what the machine and what the control groups have left, in bytes."""
    if not LINUX and root == ROOT:
        return int(psutil.virtual_memory().available)
    here = parse_meminfo((root / "proc/meminfo").read_text())["MemAvailable"]
    room = cgroup.memory_room_bytes(root)
    return here if room is None else min(here, room)


def user_threads(root: Path, uid: int) -> int:
    """Processes and threads of a user, as RLIMIT_NPROC counts them, in this PID namespace."""
    count = 0
    for status in (root / "proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.partition(":")[::2] for line in status.read_text(errors="replace").splitlines())
        except OSError:
            continue  # ended since the folder was listed
        if int(lines["Uid"].split()[0]) == uid:
            count += int(lines["Threads"])
    return count


def _nproc_exempt(root: Path) -> bool:
    """Whether RLIMIT_NPROC is not applied to this process.

    The kernel spares the machine's own root user and whoever holds one of two capabilities there.
    Root of a user namespace is neither, whatever its capability set says; such a namespace shows
    in a user map that is not the whole range onto itself.
    """
    mapped = (root / "proc/self/uid_map").read_text().split()
    if mapped != ["0", "0", "4294967295"]:
        return False
    status = (root / "proc/self/status").read_text(errors="replace").splitlines()
    fields = dict(line.partition(":")[::2] for line in status)
    held = int(fields["CapEff"], 16)
    lifting = 1 << _CAP_SYS_ADMIN | 1 << _CAP_SYS_RESOURCE
    return int(fields["Uid"].split()[0]) == 0 or bool(held & lifting)


def _rlimit(name: str) -> tuple[int | None, int | None]:
    """(soft, hard); None for "unlimited" and on systems that have no such limit."""
    if sys.platform == "win32" or not hasattr(resource, name):
        return None, None
    soft, hard = resource.getrlimit(getattr(resource, name))
    unlimited = resource.RLIM_INFINITY
    return None if soft == unlimited else soft, None if hard == unlimited else hard
