"""Memory of thread stacks, found through each thread's stack pointer."""

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from streamlanes.probe import LINUX
from streamlanes.probe.smaps import Mapping, read_mappings

_ATTEMPTS = 5
_BETWEEN_S = 0.002


@dataclass(frozen=True, kw_only=True)
class StackReading:
    """The stacks of a process's threads, without the main thread and its [stack].

    threads: how many there are. placed: of how many the stack was found; the two sizes are of these
    only. reserved_bytes: address space of the stacks, guard pages left out. resident_bytes: what of
    it is in memory. Linux before 6.7 may join a stack with the anonymous mapping above it, as a rule
    the 16 KiB in which CPython keeps the thread's frames, and that is counted then too. reason: why a
    size is None.
    """

    threads: int
    placed: int
    reserved_bytes: int | None
    resident_bytes: int | None
    reason: str | None = None


def thread_stacks(pid: int, read: Callable[[int], list[Mapping]] = read_mappings) -> StackReading:
    """Stacks reserved and resident of one process; for the memory pass only.

    A thread's stack pointer can be seen only while it waits in the kernel: running ones are tried
    again a few times and then counted as not placed. Looking at a thread makes the kernel keep
    records about it for a while, so read the host's figures first. Raises ProcessLookupError when
    the process is gone.
    """
    if not LINUX:
        return _portable(pid)
    tids = _other_threads(pid)
    try:
        mappings = read(pid)
        threads, pointers = _stack_pointers(pid, tids)
    except PermissionError as error:
        return _unknown(len(tids), f"not allowed to see stack pointers: {error.strerror}")
    if tids and not threads and not Path(f"/proc/{pid}/syscall").exists():
        return _unknown(len(tids), "this kernel shows no stack pointers")
    stacks, placed = place(pointers, mappings)
    return StackReading(
        threads=threads,
        placed=placed,
        reserved_bytes=sum(stack.end - stack.start for stack in stacks),
        resident_bytes=sum(stack.rss_bytes for stack in stacks),
    )


def tree_stacks(pids: Sequence[int], read: Callable[[int], list[Mapping]] = read_mappings) -> StackReading:
    """The stacks of several processes together; the first reason for a missing size stands for all."""
    found = []
    for pid in pids:
        try:
            found.append(thread_stacks(pid, read))
        except ProcessLookupError:
            continue  # ended meanwhile: it has no stacks
    reason = next((each.reason for each in found if each.reason), None)
    threads, placed = sum(each.threads for each in found), sum(each.placed for each in found)
    if reason is not None:
        return StackReading(
            threads=threads, placed=placed, reserved_bytes=None, resident_bytes=None, reason=reason
        )
    return StackReading(
        threads=threads,
        placed=placed,
        reserved_bytes=sum(each.reserved_bytes or 0 for each in found),
        resident_bytes=sum(each.resident_bytes or 0 for each in found),
    )


def place(pointers: Sequence[int], mappings: Sequence[Mapping]) -> tuple[list[Mapping], int]:
    """The mappings these stack pointers lie in, each once, and how many pointers lie in one.

    mappings: in ascending order.
    """
    starts = [mapping.start for mapping in mappings]
    found = set()
    placed = 0
    for pointer in pointers:
        at = bisect_right(starts, pointer) - 1
        if at >= 0 and pointer < mappings[at].end:
            found.add(at)
            placed += 1
    return [mappings[at] for at in sorted(found)], placed


def stack_pointer(text: bytes) -> int | None:
    """The stack pointer from /proc/PID/task/TID/syscall; None while the thread runs.

    The line ends with the stack pointer and the program counter, whether the thread waits in a
    system call (its number and arguments come first) or elsewhere in the kernel (-1 comes first).
    """
    words = text.split()
    return int(words[-2], 16) if len(words) >= 3 else None


def _other_threads(pid: int) -> list[str]:
    """The ids of a process's threads without the main one."""
    try:
        return [name for name in os.listdir(f"/proc/{pid}/task") if name != str(pid)]
    except FileNotFoundError as error:
        raise ProcessLookupError(f"no process {pid}") from error


def _stack_pointers(pid: int, tids: list[str]) -> tuple[int, list[int]]:
    """How many of these threads still live, and the stack pointers that could be seen."""
    waiting = tids
    pointers: list[int] = []
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_BETWEEN_S)
        running = []
        for tid in waiting:
            try:
                with open(f"/proc/{pid}/task/{tid}/syscall", "rb", buffering=0) as file:
                    pointer = stack_pointer(file.read())
            except (FileNotFoundError, ProcessLookupError):
                continue  # the thread has ended
            if pointer is None:
                running.append(tid)
            else:
                pointers.append(pointer)
        waiting = running
        if not waiting:
            break
    return len(pointers) + len(waiting), pointers


def _unknown(threads: int, reason: str) -> StackReading:
    return StackReading(threads=threads, placed=0, reserved_bytes=None, resident_bytes=None, reason=reason)


def _portable(pid: int) -> StackReading:
    try:
        threads = psutil.Process(pid).num_threads() - 1
    except psutil.NoSuchProcess as error:
        raise ProcessLookupError(f"no process {pid}") from error
    return _unknown(threads, "stack pointers are read on Linux only")
