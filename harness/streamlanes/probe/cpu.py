"""CPU time of another process."""

import time

import psutil

from streamlanes.probe import LINUX


def process_cpu_ns(pid: int) -> int:
    """CPU the process has used so far (user + system, all its threads), in nanoseconds.

    Linux: the process CPU clock, exact to the scheduler's nanoseconds where /proc counts ticks of
    10 ms. It still answers for a zombie, with the final value. Other systems: psutil, in its grain.
    Children are not included. Raises ProcessLookupError when there is no such process.
    """
    if not LINUX:
        return _portable(pid)
    # The kernel's number for "the CPU clock of process pid": the complement above three flag bits,
    # of which 2 asks for the scheduler's own count.
    clock = (~pid << 3) | 2
    try:
        return time.clock_gettime_ns(clock)
    except OSError as error:
        raise ProcessLookupError(f"no process {pid}") from error


def _portable(pid: int) -> int:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess as error:
        raise ProcessLookupError(f"no process {pid}") from error
    used_s: float = times.user + times.system
    return round(used_s * 1e9)
