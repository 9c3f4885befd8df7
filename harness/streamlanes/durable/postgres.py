"""The tables on PostgreSQL, through psycopg 3: for workers on more than one machine.

One writer thread a process takes a connection out of the pool for each group, sends its statements
through in a pipeline and commits once. Clock and locks are the server's, so its workers need no common
clock. A connection that is lost, or a server that restarts, costs the group a new attempt, not its
callers: every request may safely be carried out twice.
"""

import itertools
import logging
import os
import random
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg import sql
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from streamlanes.durable.backoff import Backoff
from streamlanes.durable.database import Counts, Dialect, Done, Params, Request, Row, Work, Write
from streamlanes.durable.errors import (
    Closed,
    DurableError,
    Forked,
    Full,
    NewerVersion,
    NoStore,
    Unreachable,
)
from streamlanes.durable.points import Point, reach
from streamlanes.durable.tables import SCHEMA_VERSION, laying
from streamlanes.durable.writer import GROUP, Failed, GroupCommit, finish

T = TypeVar("T")
Connection = psycopg.Connection[Any]

_LOCK = 0x5354524D
"""Advisory lock that makes the tables once, however many workers start together."""
_ALONE = 0x5354524E
"""Advisory lock of Dialect.alone."""

DIALECT = Dialect(
    name="postgres",
    now="cast(extract(epoch from clock_timestamp()) as double precision)",
    blob="BYTEA",
    real="DOUBLE PRECISION",
    share=" FOR SHARE",
    skip=" FOR UPDATE SKIP LOCKED",
    alone=f"SELECT pg_advisory_xact_lock({_ALONE})",
)
CONNECTIONS = 4
PATIENCE_S = 60.0
"""How long the server may be away before a request fails."""
IDLE_S = 5.0
"""The server ends a transaction whose worker says nothing for so long, or whose pipeline is not through by
then: a stopped worker would keep its rows from everybody."""
BOUNDS_TRANSACTIONS = 170_000
"""The first version of the server that can bound a pipeline: it has transaction_timeout."""
OPENING_S = 5.0
"""How long it may be away when a store is opened: whoever opens it is there to be told."""
AGAIN = Backoff(first_s=0.1, most_s=1.0)

_OURS = """SELECT count(*) FROM information_schema.columns
WHERE table_schema = %s AND table_name = 'executions' AND column_name IN ('thread_id', 'epoch')"""
"""2 in a store, of any version."""

LOST = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    pg.IdleInTransactionSessionTimeout,
    pg.TransactionTimeout,
)
"""Errors after which the same may be tried again: no connection, or one that was taken away."""
OF_CONNECTIONS = ("08", "57P")
"""How the codes begin with which a server says that it ends or does not take a connection."""

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # its words are in `counts`


class Postgres:
    """One schema of one PostgreSQL database.

    make: make schema and tables where there are none; else that is NoStore, and nothing is made.
    group: most requests in a commit, heartbeats aside; 1 commits each by itself.
    connections: most connections of this process. patience_s: see PATIENCE_S. sync_ms: how long the server
    waits before each flush of its log, which only its superuser may set.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "streamlanes",
        make: bool = True,
        group: int = GROUP,
        connections: int = CONNECTIONS,
        patience_s: float = PATIENCE_S,
        sync_ms: float = 0.0,
    ) -> None:
        self.durability = "postgres"
        self.counts = Counts()
        self._patience_s = patience_s
        self._pid = os.getpid()
        self._texts: dict[str, bytes] = {}
        self._draw = random.Random()
        self._dsn, self._where = dsn, _without_password(dsn)
        options = f"-c search_path={_as_option(schema)} -c idle_in_transaction_session_timeout={IDLE_S:g}s"
        if sync_ms:
            options += f" -c commit_siblings=0 -c commit_delay={round(sync_ms * 1000)}"
        version = self._knock(dsn, min(OPENING_S, patience_s), delays=bool(sync_ms))
        self._bound = f"SET LOCAL transaction_timeout = '{IDLE_S:g}s'"
        self._bounds = version >= BOUNDS_TRANSACTIONS
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            dsn,
            kwargs={"autocommit": True, "options": options, "connect_timeout": 5},
            min_size=1,
            max_size=connections,
            open=False,
        )
        self._pool.open()
        try:
            self._patiently(lambda connection: self._lay(connection, schema, make), counted=False)
        except BaseException:
            self._pool.close()
            raise
        self._group = GroupCommit(self._commit, group)

    def submit(self, request: Write[T] | Work[T]) -> "Future[T]":
        """See Database."""
        self._mine(request.execution)
        return self._group.submit(request)

    def read(self, template: str, params: Params) -> Sequence[Row]:
        """See Database."""
        self._mine(None)
        return self._patiently(lambda connection: self._run(connection, template, params).rows, counted=False)

    def close(self) -> None:
        """See Database. In a process that was forked off, it does nothing: the sockets are not its own."""
        if os.getpid() != self._pid:
            return
        self._group.close()
        self._pool.close()

    def _mine(self, execution: str | None) -> None:
        if os.getpid() != self._pid:
            what = f"it was opened by process {self._pid}, before a fork"
            raise Forked(execution, what, "open the store again in each process")

    def _commit(self, requests: Sequence[Request]) -> Sequence[Any]:
        done = self._patiently(lambda connection: self._transact(connection, requests), counted=True)
        reach(Point.AFTER_COMMIT)
        self.counts.commits += 1
        self.counts.requests += len(requests)
        self.counts.largest = max(self.counts.largest, len(requests))
        return [
            finish(request, each) if isinstance(request, Write) else each
            for request, each in zip(requests, done, strict=True)
        ]

    def _transact(self, connection: Connection, requests: Sequence[Request]) -> list[Any]:
        """Carry out requests in their order; runs of writes go in a pipeline each."""
        done: list[Any] = []
        with connection.transaction():
            for writes, each in itertools.groupby(requests, lambda request: isinstance(request, Write)):
                if writes:
                    done += self._pipelined(connection, [one for one in each if isinstance(one, Write)])
                    continue
                if done and self._bounds:  # behind a pipeline; Work may take its time
                    connection.execute("SET LOCAL transaction_timeout = 0")
                done += [self._work(connection, one) for one in each if isinstance(one, Work)]
            reach(Point.IN_COMMIT)
        return done

    def _pipelined(self, connection: Connection, writes: Sequence[Write[Any]]) -> list[list[Done]]:
        """Carry writes out in a pipeline. The server counts no worker as idle that is within one, so the
        transaction is bounded ahead of the rest. An older server cannot do that; there a plain statement
        behind it sets the clock of IDLE_S going at least: a pipeline may end with a Flush behind its Sync,
        and that stops it.
        """
        with ExitStack() as open_cursors:
            cursors = []
            with connection.pipeline():
                if self._bounds:
                    connection.execute(self._bound)
                for write in writes:
                    for template, params in write.statements:
                        cursor = open_cursors.enter_context(connection.cursor())
                        cursor.execute(self._text(template), params)
                        cursors.append(cursor)
            if not self._bounds:
                connection.execute("SELECT 1")
            answers = map(_done, cursors)
            return [[next(answers) for _ in write.statements] for write in writes]

    def _work(self, connection: Connection, work: Work[Any]) -> Any:
        try:
            with connection.transaction():
                return work.do(_Open(connection, self._run))
        except psycopg.Error:
            raise
        except Exception as error:
            return Failed(error)

    def _run(self, connection: Connection, template: str, params: Params) -> Done:
        with connection.cursor() as cursor:
            cursor.execute(self._text(template), params)
            return _done(cursor)

    def _text(self, template: str) -> bytes:
        text = self._texts.get(template)
        if text is None:
            named = re.sub(r"(?<!:):(\w+)", r"%(\1)s", DIALECT.fill(template))
            text = self._texts[template] = named.encode()
        return text

    def _knock(self, dsn: str, patience_s: float, *, delays: bool) -> int:
        """The server's version. See that it is there, and lets its flushes be delayed where that is wanted:
        the pool would only say that it has no connection."""
        until = time.monotonic() + patience_s
        for attempt in itertools.count(1):
            try:
                with psycopg.connect(dsn, connect_timeout=5) as connection:
                    if delays:
                        connection.execute("SET commit_delay = 0")
                    return connection.info.server_version
            except psycopg.Error as error:
                if time.monotonic() > until or not isinstance(error, psycopg.OperationalError):
                    raise self._away(error) from None
                time.sleep(AGAIN.wait_s(attempt, self._draw))
        raise AssertionError("the loop has no end")

    def _lay(self, connection: Connection, schema: str, make: bool) -> None:
        """Make the tables where they are not there yet, or of an older version."""
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if make:
                connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
                connection.execute("CREATE TABLE IF NOT EXISTS tables (version BIGINT NOT NULL)")
            elif connection.execute(_OURS, (schema,)).fetchone() != (2,):
                what = f"schema {schema} of {self._where} is no store of streamlanes"
                raise NoStore(None, what, "name another")
            found = connection.execute("SELECT version FROM tables").fetchone()
            version = found[0] if found else 0
            if version > SCHEMA_VERSION:
                what = f"schema {schema} has tables of version {version}, this is version {SCHEMA_VERSION}"
                raise NewerVersion(None, what, "open it with the newer version that wrote it")
            if version == SCHEMA_VERSION:
                return
            for template in laying(version):
                connection.execute(DIALECT.fill(template).encode())
            connection.execute("DELETE FROM tables")
            connection.execute("INSERT INTO tables (version) VALUES (%s)", (SCHEMA_VERSION,))

    def _away(self, error: psycopg.Error) -> Unreachable:
        remedy = "start it, or name another"
        return Unreachable(None, f"no PostgreSQL at {self._where} ({_line(error)})", remedy)

    def _given_up(self, error: psycopg.Error) -> Unreachable:
        """What was in the way until the patience ran out: a pool in use, a server that refuses, or none."""
        for_so_long = f"for {self._patience_s:g} s"
        if isinstance(error, PoolTimeout):
            found = self._refusal()
            if found is None:
                what = f"all {self._pool.max_size} connections to {self._where} were in use {for_so_long}"
                return Unreachable(None, what, "see who holds them, or let this process have more")
            error = found
        if error.sqlstate is not None and not error.sqlstate.startswith(OF_CONNECTIONS):
            what = f"{self._where} refused it {for_so_long} ({_line(error)})"
            return Unreachable(None, what, "look at the server's settings and log, then run it again")
        return self._away(error)

    def _refusal(self) -> psycopg.Error | None:
        """What the server says to a connection outside the pool; None where it takes it."""
        try:
            psycopg.connect(self._dsn, connect_timeout=5).close()
        except psycopg.Error as error:
            return error
        return None

    def _patiently(self, do: Callable[[Connection], T], *, counted: bool) -> T:
        """Do it on a connection of the pool, and again where the connection or the lock was lost. counted:
        whether it is the writer, whose waits and attempts are in `counts`.
        """
        until = time.monotonic() + self._patience_s
        for attempt in itertools.count(1):
            began = time.perf_counter_ns()
            try:
                with self._pool.connection(timeout=max(0.1, until - time.monotonic())) as connection:
                    if counted:
                        self.counts.waiting_ns += time.perf_counter_ns() - began
                    return do(connection)
            except PoolClosed:
                raise Closed(None, "its store is closed", "open the store again") from None
            except pg.DiskFull as error:
                remedy = "make room on the server and run it again; what was acknowledged is kept"
                raise Full(None, f"{self._where} has no room ({_line(error)})", remedy) from None
            except LOST as error:
                if time.monotonic() > until:
                    raise self._given_up(error) from None
                self.counts.retried += counted
                time.sleep(AGAIN.wait_s(attempt, self._draw))
            except psycopg.Error as error:
                remedy = "what was acknowledged is kept; look at the server's log"
                raise DurableError(None, f"{self._where}: {_line(error)}", remedy) from None
        raise AssertionError("the loop has no end")


class _Open:
    """A transaction on a connection, a round trip a statement."""

    def __init__(self, connection: Connection, run: Callable[[Connection, str, Params], Done]) -> None:
        self._connection = connection
        self._run = run

    def run(self, template: str, params: Params) -> Done:
        return self._run(self._connection, template, params)


def _done(cursor: psycopg.Cursor[Any]) -> Done:
    rows = cursor.fetchall() if cursor.description else ()
    return Done(max(0, cursor.rowcount), rows)


def _as_option(schema: str) -> str:
    """A schema's name, whatever is in it, within the options of a connection."""
    return re.sub(r"([\s\\])", r"\\\1", sql.Identifier(schema).as_string(None))


def _line(error: psycopg.Error) -> str:
    """The first line of what the server or the driver says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _without_password(dsn: str) -> str:
    """A connection string as it may be shown."""
    try:
        parts = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:
        return "the given DSN"
    host, port, name = (parts.get(part) for part in ("host", "port", "dbname"))
    return f"{host or 'the local socket'}{f':{port}' if port else ''}/{name or ''}"
