"""What keeping steps costs a PostgreSQL, as the server counts it: flushes of its log, bytes of it, room."""

from contextlib import closing
from typing import Any

import psycopg

from streamlanes.durable.costs import Cost

SETTLE_S = 1.1
"""A connection tells its counts when it is next idle, at most once a second."""
_BYTES = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
_ROOM = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'"""
_SYNCS_OF_18 = "SELECT coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io WHERE object = 'wal'"
_SYNCS_OF_14 = "SELECT wal_sync FROM pg_stat_wal"
_SETTINGS = ("server_version", "fsync", "synchronous_commit", "wal_sync_method")


class ServerCosts:
    """Of the whole server: where others use it too, theirs are among them."""

    settle_s = SETTLE_S

    def __init__(self, dsn: str, schema: str) -> None:
        self._dsn = dsn
        self._schema = schema

    def read(self) -> Cost:
        """Now, by a connection of its own."""
        with closing(psycopg.connect(self._dsn, autocommit=True)) as connection:
            version = connection.info.server_version
            syncs = None
            if version >= 140_000:
                syncs = _one(connection, _SYNCS_OF_18 if version >= 180_000 else _SYNCS_OF_14)
            return Cost(syncs, _one(connection, _BYTES), _one(connection, _ROOM, self._schema))

    def facts(self) -> dict[str, object]:
        """Its version, and the settings that decide what a commit promises."""
        with closing(psycopg.connect(self._dsn, autocommit=True)) as connection:
            said = {name: connection.execute(f"SHOW {name}".encode()).fetchone() for name in _SETTINGS}
        return {name: value[0] for name, value in said.items() if value}


def _one(connection: "psycopg.Connection[Any]", query: str, *params: str) -> int | None:
    found = connection.execute(query.encode(), params or None).fetchone()
    return None if found is None or found[0] is None else int(found[0])
