"""Which processes belong to a cell: the members of its process group."""

import os
from pathlib import Path

import psutil

from streamlanes.probe import LINUX

PROC = Path("/proc")
_ENDED = frozenset({b"Z", b"X", b"x"})


def members(pgid: int, proc: Path = PROC) -> tuple[int, ...]:
    """The living processes of a group, sorted by pid; empty when there are none.

    Zombies are left out: they hold no memory and run no code. Processes of other users that the
    system hides from this one are not seen.
    """
    if not LINUX and proc == PROC:
        return _portable(pgid)
    found = []
    for entry in os.scandir(proc):
        if not entry.name.isdigit():
            continue
        try:
            stat = Path(entry.path, "stat").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # ended since the folder was listed, or hidden
        state, group = state_and_group(stat)
        if group == pgid and state not in _ENDED:
            found.append(int(entry.name))
    return tuple(sorted(found))


def state_and_group(stat: bytes) -> tuple[bytes, int]:
    """State letter and process group from the text of /proc/PID/stat.

    The second field is the command in brackets and may itself hold spaces and brackets, so the
    fields are counted from the last closing one.
    """
    state, _parent, group = stat[stat.rindex(b")") + 1 :].split(maxsplit=3)[:3]
    return state, int(group)


def _portable(pgid: int) -> tuple[int, ...]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == pgid and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (OSError, psutil.Error):
            continue  # ended since the list was made, or hidden
    return tuple(sorted(found))
