"""The tables on SQLite: the embedded default, one file, one machine.

Write-ahead log, BEGIN IMMEDIATE, one writer thread a process. A transaction that begins by reading
and then writes can fail at once, whatever the timeout, when another wrote between: so none begins by
reading. Another process that writes is waited for, and each time that happens is counted.
"""

import contextlib
import enum
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from streamlanes.durable import steps
from streamlanes.durable.backfill import LEFT_TO_THE_WRITER, Backfill
from streamlanes.durable.checkpoints import APPEND
from streamlanes.durable.database import Counts, Dialect, Done, Params, Request, Row, Work, Write
from streamlanes.durable.errors import (
    Closed,
    Corrupt,
    DurableError,
    Forked,
    Full,
    NewerVersion,
    NoStore,
    Unreachable,
)
from streamlanes.durable.points import Point, reach
from streamlanes.durable.tables import SCHEMA_VERSION
from streamlanes.durable.values import Clock, boot_clock_s
from streamlanes.durable.writer import GROUP, Failed, GroupCommit, finish

T = TypeVar("T")

DIALECT = Dialect(
    name="sqlite",
    now=":now",
    blob="BLOB",
    real="REAL",
    share="",
    skip="",
    alone="SELECT 1",  # every transaction that writes is, by BEGIN IMMEDIATE
    key=steps.KEY,
    newest=steps.NEWEST,
    kept=steps.KEPT,
    own={APPEND: steps.APPEND},
)
PATIENCE_S = 60.0
"""How long another process may keep the file before a request fails."""
BUSY_MS = 250
CACHE_KIB = 16384
"""Page cache: holds the index's hot pages of some thousands of executions."""
OLDEST = (3, 35, 0)
"""The first SQLite with RETURNING."""
_OURS = "SELECT count(*) FROM pragma_table_info('executions') WHERE name IN ('thread_id', 'epoch')"
"""2 in a store, of any version."""


_ONE = Done(1, ())
"""What nearly every statement of a step comes to."""


class Synchronous(enum.StrEnum):
    """When SQLite waits for the disk: FULL at every commit; NORMAL only when the log is moved into the
    file, so that a loss of power can take back steps that were acknowledged."""

    FULL = "full"
    NORMAL = "normal"


class SQLite:
    """One database file.

    make: lay the tables where there are none; else that is NoStore, and the file is left as it is.
    group: most requests in a commit, heartbeats aside; 1 commits each by itself.
    max_bytes: the file's largest size; a write beyond it fails with Full.
    clock: what leases are measured with; every process of the file must read the same.
    vfs: name of a registered SQLite VFS to open the file through.
    """

    def __init__(  # noqa: PLR0913  # each is a choice of its own, all have defaults
        self,
        path: Path | str,
        *,
        make: bool = True,
        synchronous: Synchronous = Synchronous.FULL,
        group: int = GROUP,
        max_bytes: int | None = None,
        clock: Clock = boot_clock_s,
        patience_s: float = PATIENCE_S,
        vfs: str | None = None,
    ) -> None:
        self.path = Path(path)
        self.durability = f"sqlite-{synchronous}"
        self.counts = Counts()
        self._clock = clock
        self._patience_s = patience_s
        self._pid = os.getpid()
        self._texts: dict[str, str] = {}
        self._vfs = vfs
        self._reading = threading.Lock()
        self._closed = False
        if not make and not self.path.is_file():
            raise NoStore(None, f"no store at {self.path}", "name another file")
        if sqlite3.sqlite_version_info < OLDEST:
            what = f"SQLite {sqlite3.sqlite_version} is too old"
            raise DurableError(None, what, "use a Python with SQLite 3.35 or newer")
        self._writer = self._opened(make, synchronous, max_bytes)
        self._reader = self._connection()
        self._backfill = Backfill(self._connection())
        self._group = GroupCommit(self._commit, group)

    def submit(self, request: Write[T] | Work[T]) -> "Future[T]":
        """See Database."""
        self._mine(request.execution)
        return self._group.submit(request)

    def read(self, template: str, params: Params) -> Sequence[Row]:
        """See Database."""
        self._mine(None)
        with self._reading:
            if self._closed:
                raise Closed(_named(params), "its store is closed", "open the store again")
            try:
                return self._run(self._reader, template, {**params, "now": self._clock()}).rows
            except sqlite3.Error as error:
                raise self._said(error).about(_named(params)) from None

    def close(self) -> None:
        """See Database. In a process that was forked off, it does nothing: the files are not its own."""
        if os.getpid() != self._pid:
            return
        self._group.close()
        self._backfill.close()
        with self._reading:
            self._closed = True
            self._reader.close()
        self._writer.close()

    def _mine(self, execution: str | None) -> None:
        if os.getpid() != self._pid:
            what = f"{self.path} was opened by process {self._pid}, before a fork"
            raise Forked(execution, what, "open the store again in each process")

    def _opened(self, make: bool, synchronous: Synchronous, max_bytes: int | None) -> sqlite3.Connection:
        """The writer's connection, with the tables there."""
        made = self._connection()
        try:
            if not make:
                self._see_that_it_is_ours(made)
            self._prepare(made, synchronous, max_bytes)
        except sqlite3.Error as error:
            made.close()
            raise self._said(error) from None
        except DurableError:
            made.close()
            raise
        return made

    def _see_that_it_is_ours(self, made: sqlite3.Connection) -> None:
        """Before anything is written: what is somebody else's is not even set to a write-ahead log."""
        found: list[Row] = []
        self._patiently(lambda: found.extend(made.execute(_OURS).fetchall()))
        if found != [(2,)]:
            raise NoStore(None, f"{self.path} is no store of streamlanes", "name another file")

    def _prepare(self, made: sqlite3.Connection, synchronous: Synchronous, max_bytes: int | None) -> None:
        self._patiently(lambda: made.execute("PRAGMA journal_mode = WAL"))
        (mode,) = made.execute("PRAGMA journal_mode").fetchone()
        if mode != "wal":
            what = f"{self.path} cannot have a write-ahead log (mode {mode})"
            raise DurableError(None, what, "put it on a local disk")
        made.execute(f"PRAGMA synchronous = {synchronous}")
        made.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        made.execute(f"PRAGMA wal_autocheckpoint = {LEFT_TO_THE_WRITER}")
        if max_bytes is not None:
            (page,) = made.execute("PRAGMA page_size").fetchone()
            made.execute(f"PRAGMA max_page_count = {max(1, max_bytes // page)}")
        self._lay(made)

    def _connection(self) -> sqlite3.Connection:
        where = self.path.absolute().as_uri() + (f"?vfs={self._vfs}" if self._vfs else "")
        try:
            made = sqlite3.connect(where, uri=True, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._said(error) from None
        made.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        return made

    def _lay(self, made: sqlite3.Connection) -> None:
        """Make the tables where they are not there yet, or of an older version."""
        (version,) = made.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA_VERSION:
            what = f"{self.path} has tables of version {version}, this is version {SCHEMA_VERSION}"
            raise NewerVersion(None, what, "open it with the newer version that wrote it")
        if version == SCHEMA_VERSION:
            return
        self._patiently(lambda: made.execute("BEGIN IMMEDIATE"))
        (version,) = made.execute("PRAGMA user_version").fetchone()  # another may have been faster
        if version < SCHEMA_VERSION:
            for template in steps.laying(version):
                made.execute(DIALECT.fill(template))
            made.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        made.execute("COMMIT")

    def _commit(self, requests: Sequence[Request]) -> Sequence[Any]:
        try:
            self._patiently(lambda: self._writer.execute("BEGIN IMMEDIATE"))
            transaction = _Open(self._writer, self._run, self._clock())
            done = [self._one(request, transaction) for request in requests]
            reach(Point.IN_COMMIT)
            self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo()
            raise self._said(error) from None
        except BaseException:
            self._undo()
            raise
        reach(Point.AFTER_COMMIT)
        self.counts.commits += 1
        self.counts.requests += len(requests)
        self._backfill.note(len(requests))
        self.counts.largest = max(self.counts.largest, len(requests))
        return [
            finish(request, each) if isinstance(request, Write) else each
            for request, each in zip(requests, done, strict=True)
        ]

    def _one(self, request: Request, transaction: "_Open") -> Any:
        if isinstance(request, Write):
            return [transaction.run(template, params) for template, params in request.statements]
        self._writer.execute("SAVEPOINT work")
        try:
            answer = request.do(transaction)
        except sqlite3.Error:
            raise  # the group is taken apart, and the error comes back for this request alone
        except Exception as error:
            self._writer.execute("ROLLBACK TO work")
            answer = Failed(error)
        self._writer.execute("RELEASE work")
        return answer

    def _run(self, connection: sqlite3.Connection, template: str, params: Params) -> Done:
        text = self._texts.get(template)
        if text is None:
            text = self._texts[template] = DIALECT.fill(template)
        cursor = connection.execute(text, params)
        if cursor.description is None and cursor.rowcount == 1:
            return _ONE
        rows = cursor.fetchall() if cursor.description else ()
        return Done(cursor.rowcount if cursor.rowcount >= 0 else len(rows), rows)

    def _undo(self) -> None:
        """Roll back what is open; SQLite may have done so itself, where the disk is full."""
        with contextlib.suppress(sqlite3.Error):
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")

    def _patiently(self, begin: Callable[[], object]) -> None:
        """Do what another process can be in the way of, and wait for that one."""
        until = time.monotonic() + self._patience_s
        while True:
            try:
                begin()
                return
            except sqlite3.OperationalError as error:
                if _code(error) not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                    raise
                self.counts.locked += 1
                if time.monotonic() > until:
                    what = f"{self.path} was kept by another process for {self._patience_s:g} s"
                    raise Unreachable(None, what, "end that process, then run this again") from None

    def _said(self, error: sqlite3.Error) -> DurableError:
        """SQLite's error in a line of ours."""
        code, kept = _code(error), "what was acknowledged is kept"
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            remedy = f"restore it from a copy, or save what can be read with `sqlite3 {self.path} .recover`"
            return Corrupt(None, f"{self.path} is damaged ({error})", remedy)
        if code == sqlite3.SQLITE_FULL:
            return Full(None, f"{self.path} has no room to grow", f"make room and run it again; {kept}")
        if code in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
            remedy = "name a file in a folder that can be written"
            return Unreachable(None, f"{self.path} cannot be opened for writing ({error})", remedy)
        return DurableError(None, f"{self.path}: {error}", f"look at the disk and run it again; {kept}")


class _Open:
    """The writer's transaction; its clock stands still."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        run: Callable[[sqlite3.Connection, str, Params], Done],
        now_s: float,
    ) -> None:
        self._connection = connection
        self._run = run
        self._now = {"now": now_s}

    def run(self, template: str, params: Params) -> Done:
        return self._run(self._connection, template, {**params, **self._now})


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for an error of Python's binding."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _named(params: Params) -> str | None:
    thread_id = params.get("thread_id")
    return thread_id if isinstance(thread_id, str) else None
