"""A database by its address: a path is a file of SQLite, postgresql:// a server."""

from streamlanes.durable.database import Database
from streamlanes.durable.errors import DurableError
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.writer import GROUP

SERVER = ("postgresql://", "postgres://")


def open_database(  # each is a choice of its own, all have defaults
    where: str,
    *,
    make: bool = True,
    group: int = GROUP,
    synchronous: Synchronous = Synchronous.FULL,
    schema: str = "streamlanes",
    sync_ms: float = 0.0,
    vfs: str | None = None,
) -> Database:
    """Open the tables; with `make`, made where they are not there yet, else that is NoStore.

    synchronous, vfs: SQLite's. schema, sync_ms (added by the server to each flush of its log): PostgreSQL's;
    on SQLite the VFS delays syncs. Raises DurableError where that cannot be done. The caller closes it.
    """
    if not where.startswith(SERVER):
        return SQLite(where, make=make, synchronous=synchronous, group=group, vfs=vfs)
    try:
        from streamlanes.durable.postgres import Postgres
    except ImportError:
        remedy = "install it: pip install 'streamlanes[durable]'"
        raise DurableError(None, "PostgreSQL needs psycopg, which is not here", remedy) from None
    return Postgres(where, schema=schema, make=make, group=group, sync_ms=sync_ms)
