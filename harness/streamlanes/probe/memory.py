"""Memory of a process tree, from outside.

The rule (DESIGN.md, rule 6): anonymous and shared memory summed as PSS over the tree are the
headline, pages of files apart, summed RSS only as an upper bound.

How one mapping's PSS is divided, since the kernel gives the three parts only for a whole process:
- its anonymous pages, wherever they are: `private` (heap, stacks, copied-on-write pages of files);
- the rest of a memory file (memfd, tmpfs, /dev/shm, System V, shared anonymous mappings): `shared`;
- the rest of any other mapping: `file` (programs, libraries, data read through mmap).
A mapping that holds both anonymous and other pages, some of them shared with other processes, is
divided by estimate (`_anonymous_pss`); the sum of the parts stays exact, and against the kernel's own
total for a process the error was a few KiB. The kernel rounds each mapping's PSS down to 1 KiB, and
counts huge pages of hugetlbfs in none of these figures.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from streamlanes.probe import LINUX
from streamlanes.probe.smaps import Mapping, read_mappings

OWN = "/memfd:streamlanes"
"""How the names of the harness's own shared tables begin."""

_KIB = 1024
_MEMORY_FILES = (b"/memfd:", b"/dev/zero", b"/dev/shm/", b"/SYSV", b"[anon_shmem:")


@dataclass(frozen=True, kw_only=True)
class MemoryReading:
    """Memory of some processes at one time, summed. A figure is None only for what `reason` says.

    private_pss_bytes, shared_pss_bytes, file_pss_bytes: see the head of this module.
    pss_bytes: private + shared, the headline.
    rss_upper_bound_bytes: summed RSS; counts a page once for every process that maps it.
    virtual_bytes: address space reserved.
    own_rss_bytes: RSS of the harness's own tables. They are left out of all figures above, but the
    kernel's peaks below contain them.
    page_table_bytes: the kernel's tables for these address spaces (leaf level), own tables included.
    peak_rss_bytes: highest RSS so far, of one process only: None for several.
    peak_rss_upper_bound_bytes: the summed peaks, which need not have been at the same time.
    fds: open descriptors. processes: how many were read. vanished: how many had ended before.
    """

    private_pss_bytes: int | None = None
    shared_pss_bytes: int | None = None
    file_pss_bytes: int | None = None
    pss_bytes: int | None = None
    rss_upper_bound_bytes: int | None = None
    virtual_bytes: int | None = None
    own_rss_bytes: int | None = None
    page_table_bytes: int | None = None
    peak_rss_bytes: int | None = None
    peak_rss_upper_bound_bytes: int | None = None
    threads: int | None = None
    fds: int | None = None
    processes: int
    vanished: int
    reason: str | None = None


def read_memory(
    pids: Sequence[int], own: str = OWN, read: Callable[[int], list[Mapping]] = read_mappings
) -> MemoryReading:
    """The memory of these processes now; walks every page table, so for the memory pass only.

    read: gives a process's mappings; a caller that wants them twice passes a cached one. A process
    that ended meanwhile is counted in `vanished`. Never raises for what cannot be read.
    """
    if not LINUX:
        return _portable(pids)
    parts, statuses, descriptors, vanished = [], [], [], 0
    try:
        for pid in pids:
            try:
                part = divide(read(pid), own.encode(), memory_file_devices(pid))
                status = read_status(pid)
            except ProcessLookupError:
                vanished += 1
                continue
            parts.append(part)
            statuses.append(status)
            descriptors.append(_count_fds(pid))
    except PermissionError as error:
        return MemoryReading(processes=0, vanished=vanished, reason=f"not allowed: {error.strerror}")
    if not parts:
        return MemoryReading(processes=0, vanished=vanished, reason="no process was left to read")
    peaks = [status["VmHWM"] * _KIB for status in statuses]
    known_fds = [count for count in descriptors if count is not None]
    private, shared, file, rss, virtual, own_rss = (sum(column) for column in zip(*parts, strict=True))
    return MemoryReading(
        private_pss_bytes=private,
        shared_pss_bytes=shared,
        file_pss_bytes=file,
        pss_bytes=private + shared,
        rss_upper_bound_bytes=rss,
        virtual_bytes=virtual,
        own_rss_bytes=own_rss,
        page_table_bytes=sum(status["VmPTE"] for status in statuses) * _KIB,
        peak_rss_bytes=peaks[0] if len(pids) == 1 else None,
        peak_rss_upper_bound_bytes=sum(peaks),
        threads=sum(status["Threads"] for status in statuses),
        fds=sum(known_fds) if len(known_fds) == len(parts) else None,
        processes=len(parts),
        vanished=vanished,
        reason=None if len(known_fds) == len(parts) else "open descriptors may not be listed",
    )


def divide(mappings: Sequence[Mapping], own: bytes, devices: frozenset[bytes]) -> tuple[int, ...]:
    """(private, shared, file) PSS, RSS, address space, and the own tables' RSS, in bytes.

    devices: those of memory file systems, whose files count as shared memory.
    """
    private = shared = file = rss = virtual = own_rss = 0
    for mapping in mappings:
        if mapping.name.startswith(own):
            own_rss += mapping.rss_bytes
            continue
        if mapping.name == b"[vsyscall]":
            continue  # the kernel's page, listed in every process and part of none
        anonymous = _anonymous_pss(mapping)
        private += anonymous
        if mapping.device in devices or mapping.name.startswith(_MEMORY_FILES):
            shared += mapping.pss_bytes - anonymous
        else:
            file += mapping.pss_bytes - anonymous
        rss += mapping.rss_bytes
        virtual += mapping.end - mapping.start
    return private, shared, file, rss, virtual, own_rss


def _anonymous_pss(mapping: Mapping) -> int:
    """The part of a mapping's PSS that its anonymous pages make up, in bytes.

    Exact when all or none of the pages are anonymous, and when no page is shared. Else anonymous
    pages are taken to be among the dirty private ones first, as copied-on-write pages are, and the
    rest to be shared by as many processes as the mapping's other shared pages.
    """
    if mapping.anonymous_bytes >= mapping.rss_bytes:
        return mapping.pss_bytes
    unshared = mapping.private_clean_bytes + mapping.private_dirty_bytes
    shared = mapping.rss_bytes - unshared
    if shared <= 0:
        return min(mapping.anonymous_bytes, mapping.pss_bytes)
    alone = min(mapping.anonymous_bytes, mapping.private_dirty_bytes)
    share = min(1.0, (mapping.anonymous_bytes - alone) / shared)
    return alone + round(max(0, mapping.pss_bytes - unshared) * share)


def memory_file_devices(pid: int) -> frozenset[bytes]:
    """Devices of the memory file systems the process sees, written as smaps writes them.

    Without them a file on such a file system would pass for one on a disk. Empty if unreadable.
    """
    try:
        lines = Path(f"/proc/{pid}/mountinfo").read_bytes().splitlines()
    except OSError:
        return frozenset()
    return frozenset(
        b"%02x:%02x" % tuple(int(number) for number in line.split(maxsplit=3)[2].split(b":"))
        for line in lines
        if line.partition(b" - ")[2].split(b" ")[0] in (b"tmpfs", b"ramfs", b"devtmpfs")
    )


def read_status(pid: int) -> dict[str, int]:
    """The lines of /proc/PID/status that are one number, by name (KiB where it is a size).

    Raises ProcessLookupError when the process is gone or, as a zombie, holds no memory.
    """
    try:
        text = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except FileNotFoundError as error:
        raise ProcessLookupError(f"no process {pid}") from error
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdecimal() and (len(words) == 1 or words[1:] == ["kB"]):
            found[name] = int(words[0])
    if "VmHWM" not in found:
        raise ProcessLookupError(f"process {pid} has ended and holds no memory")
    return found


def _count_fds(pid: int) -> int | None:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def _portable(pids: Sequence[int]) -> MemoryReading:
    """What psutil gives on a system without /proc: RSS, address space and threads."""
    rss = virtual = threads = processes = 0
    for pid in pids:
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                memory, count = process.memory_info(), process.num_threads()
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            return MemoryReading(processes=0, vanished=0, reason="not allowed to read another process")
        rss, virtual, threads = rss + memory.rss, virtual + memory.vms, threads + count
        processes += 1
    if not processes:
        return MemoryReading(processes=0, vanished=len(pids), reason="no process was left to read")
    return MemoryReading(
        rss_upper_bound_bytes=rss,
        virtual_bytes=virtual,
        threads=threads,
        processes=processes,
        vanished=len(pids) - processes,
        reason="this system does not tell how processes share their memory",
    )
