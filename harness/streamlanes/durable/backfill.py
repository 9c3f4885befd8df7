"""Moving SQLite's log into its file, beside the writer.

SQLite does that within a commit, every thousand pages, and everybody whose step is in that commit
waits for it: one acknowledgement in ten took four times as long. Here a thread copies most of it, on
a connection of its own, while commits go on; the writer's own threshold, higher, then finds little
left. The log can only begin anew when all of it is copied, so the writer's must stay.
"""

import contextlib
import sqlite3
import threading

EVERY = 500
"""Requests between two copies. The index's hot pages are written again and again: the rarer the copy, the
less of that reaches the file. But a commit that meets the sync at a copy's end waits for all that was
copied: with a copy in 2,000 requests the slowest commit of 30,000 steps took 14 to 15 ms, with one in 500 it
took 5 to 7 (100 executions of 1 KB, a virtual disk, syncs of 0.2 ms), for 8 % more bytes."""
LEFT_TO_THE_WRITER = 8000
"""Pages of log at which a commit copies what is left, 32 MiB."""


class Backfill:
    """The thread. connection: for it alone; it is closed at the end."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._waiting = 0
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._copy, name="backfill", daemon=True)
        self._thread.start()

    def note(self, requests: int) -> None:
        """Say how many requests were committed."""
        self._waiting += requests
        if self._waiting >= EVERY:
            self._waiting = 0
            self._wake.set()

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._wake.set()
        self._thread.join()
        self._connection.close()

    def _copy(self) -> None:
        while self._wake.wait() and not self._closed:
            self._wake.clear()
            with contextlib.suppress(sqlite3.Error):  # the writer meets the same, and says so
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
