"""Shared int64 columns: the schedule, the cell's stamps, the provider's send times.

The parent creates a table, the measured processes open it by path and write into it; nothing is
sent while they run, and what a killed process wrote is still there. Standard library only: this
module is part of the measured process.
"""

import enum
import mmap
import os
import tempfile
from collections.abc import Sequence

Column = tuple[str, int]
"""A column's name and its number of rows."""


HEADER_ROWS = 8
ORIGIN = 0
"""Header row of the schedule: CLOCK_MONOTONIC ns at which the schedule begins, written before `go`."""
RELEASED = 1
"""Header row of the schedule: 1 once the memory pass lets held calls go on."""


def schedule_columns(calls: int, tokens: int) -> tuple[Column, ...]:
    """The schedule as cell and provider see it; see workload.Schedule for the meaning."""
    return (("header", HEADER_ROWS), ("start", calls), ("first", calls + 1), ("offset", tokens))


def call_columns(calls: int, tokens: int) -> tuple[Column, ...]:
    """What a cell stamps, 0 where it did not come to it.

    Of a call: when it began, was connected, was sent, brought its first event, its first token that a
    reader sees, and ended (CLOCK_MONOTONIC ns); its outcome; its count of tokens; usage: the provider's
    own count of them, -1 if it said none; no_sentinel: 1 if it ended ok by its finish reason alone. Of a
    token: when it was received.
    """
    stamps = ("begin", "connected", "sent", "first_event", "first_visible", "end")
    per_call = (*stamps, "outcome", "count", "usage", "no_sentinel")
    return (*((name, calls) for name in per_call), ("received", tokens))


def lane_columns(names: Sequence[str], calls: int) -> tuple[Column, ...]:
    """What a lane's job stamps of a call beside that."""
    return tuple((name, calls) for name in names)


def provider_columns(calls: int, tokens: int) -> tuple[Column, ...]:
    """What the provider stamps: when it accepted the connection, when it had seen the whole request,
    and when it sent each token (just before the write)."""
    return (("accepted", calls), ("seen", calls), ("sent", tokens))


class Outcome(enum.IntEnum):
    """How a call ended, as stored in the `outcome` column; 0 means it has not ended."""

    OK = 1
    TRUNCATED = 2  # the stream ended without saying so
    RESET = 3
    CONNECT_ERROR = 4
    PROVIDER_ERROR = 5
    PROTOCOL_ERROR = 6
    JOB_ERROR = 7
    STATUS_4XX = 8
    STATUS_5XX = 9
    CLIENT_TIMEOUT = 10
    CLIENT_POOL_TIMEOUT = 11
    CANCELLED = 12
    UNFINISHED = 13  # started, and the cell was over before it ended


class Table:
    """Named columns of signed 64-bit integers in one shared mapping, all 0 at first.

    A column is a writable memoryview of format "q": `table["end"][call] = now_ns` is the whole cost
    of a stamp. `path` lets another process of the same user open the table while its maker lives.
    """

    def __init__(self, fd: int, columns: Sequence[Column], path: str) -> None:
        self.columns = tuple((str(name), int(rows)) for name, rows in columns)
        self.path = path
        self._fd = fd
        size = 8 * sum(rows for _, rows in self.columns)
        self._map = mmap.mmap(fd, max(size, 1))
        self._views = {}
        view = memoryview(self._map)
        at = 0
        for name, rows in self.columns:
            self._views[name] = view[at : at + 8 * rows].cast("q")
            at += 8 * rows
        view.release()

    @classmethod
    def create(cls, name: str, columns: Sequence[Column]) -> "Table":
        """A new table, gone with the last process that has it open. Raises OSError without memory."""
        size = max(8 * sum(rows for _, rows in columns), 1)
        if hasattr(os, "memfd_create"):  # not /dev/shm: a container's has 64 MB
            fd = os.memfd_create(f"streamlanes-{name}", os.MFD_CLOEXEC)
            path = f"/proc/{os.getpid()}/fd/{fd}"
        else:
            fd, path = tempfile.mkstemp(prefix=f"streamlanes-{name}-")
        os.ftruncate(fd, size)
        return cls(fd, columns, path)

    @classmethod
    def open(cls, path: str, columns: Sequence[Column]) -> "Table":
        """The table another process made; every page is touched, so that no stamp pays for it."""
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            table = cls(fd, columns, path)
        except BaseException:
            os.close(fd)
            raise
        table.touch()
        return table

    def touch(self) -> None:
        """Map every page for writing in this process, now."""
        for at in range(0, len(self._map), mmap.PAGESIZE):
            self._map[at] = self._map[at]

    def __getitem__(self, name: str) -> memoryview:
        return self._views[name]

    def close(self) -> None:
        """Unmap, and delete the file where there is one. Columns handed out are released."""
        for view in self._views.values():
            view.release()
        self._map.close()
        os.close(self._fd)
        if not self.path.startswith("/proc/"):
            os.unlink(self.path)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as its path: a pool worker of another start method opens it again."""
        return (Table.open, (self.path, self.columns))
