"""What went wrong inside a cell, in words: every process of it adds lines to one file.

The parent makes the file and reads it when the cell is over. Lines are short and each is one write
at the file's end, so that processes and threads do not mix theirs, and what a killed process noted is
still there. Standard library only: this module is part of the measured process.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass

MAX_TEXT = 200
MAX_KINDS = 8
"""Kinds that are told by name; the others are counted together."""
OTHERS = "others"
MAX_READ_BYTES = 8 << 20


@dataclass(frozen=True)
class Mishap:
    """One kind of mishap. count: how often it was noted. message: of the first."""

    count: int
    message: str


class Mishaps:
    """The file. `path` lets another process of the same user open it while its maker lives."""

    def __init__(self, fd: int, path: str) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def create(cls) -> "Mishaps":
        """A new file, gone with the last process that has it open."""
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("streamlanes-mishaps", os.MFD_CLOEXEC)
            path = f"/proc/{os.getpid()}/fd/{fd}"
        else:
            fd, path = tempfile.mkstemp(prefix="streamlanes-mishaps-")
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
        return cls(fd, path)

    @classmethod
    def open(cls, path: str) -> "Mishaps":
        """The file another process made, for adding to."""
        return cls(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC), path)

    def note(self, kind: str, message: str) -> None:
        """Add a line. A file that takes no more costs the line and nothing else."""
        try:
            os.write(self._fd, json.dumps([one_line(kind), one_line(message)]).encode() + b"\n")
        except OSError:
            return

    def error(self, error: BaseException) -> None:
        """Note an exception: its class, with the module that is not built in, and its message."""
        kind = type(error)
        where = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        self.note(f"{where}{kind.__qualname__}", str(error))

    def read(self) -> dict[str, Mishap]:
        """All that was noted so far, by kind, in the order in which they first came."""
        text = os.pread(self._fd, MAX_READ_BYTES, 0)
        return counted(text.splitlines())

    def close(self) -> None:
        """Close, and delete the file where there is one."""
        os.close(self._fd)
        if not self.path.startswith("/proc/"):
            os.unlink(self.path)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as its path: a pool worker of another start method opens it again."""
        return (Mishaps.open, (self.path,))


def one_line(text: str) -> str:
    """Somebody's text as one short line that every terminal, table and JSON reader takes."""
    line = " ".join(text.split())[:MAX_TEXT]
    return "".join(each if each.isprintable() else "?" for each in line)


def counted(lines: Iterable[bytes]) -> dict[str, Mishap]:
    """Lines as kinds: the first MAX_KINDS by name, the rest together. A cut line is none."""
    found: dict[str, Mishap] = {}
    for line in lines:
        try:
            kind, message = json.loads(line)
        except ValueError:
            continue
        if kind not in found and len(found) >= MAX_KINDS:
            kind, message = OTHERS, f"more kinds than {MAX_KINDS}"
        before = found.get(kind)
        found[kind] = Mishap(before.count + 1, before.message) if before else Mishap(1, message)
    return found
