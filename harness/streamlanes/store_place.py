"""Where a cell of the durable lane keeps its steps: a fresh folder, or a fresh schema of a server."""

import contextlib
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from streamlanes.cells import Cell
from streamlanes.lanes.base import Place
from streamlanes.lanes.durable_asks import store
from streamlanes.local_postgres import Local, postgres


@contextlib.contextmanager
def store_place(cell: Cell) -> Iterator[Place]:
    """The place, gone with all that was kept at the end of the block. It lies where temporary files do
    (TMPDIR), so that is the disk that is measured. Raises UserError where no PostgreSQL can be had."""
    with tempfile.TemporaryDirectory(prefix="streamlanes-steps-") as folder:
        if store(cell) != "postgres":
            where = str(Path(folder) / "steps.db")
            yield Place(told={"folder": folder, "where": where, "own_disk": True})
            return
        with postgres() as server:
            schema = f"lane_{secrets.token_hex(6)}"
            told = {"folder": folder, "where": server.dsn, "schema": schema}
            try:
                yield Place(told={**told, "own_disk": server.folder is not None}, server=server.pid())
            finally:
                if server.folder is None:
                    _drop(server, schema)


def _drop(server: Local, schema: str) -> None:
    """Leave nothing of a schema. A server that is away must not hide why the cell ended."""
    import psycopg

    with contextlib.suppress(psycopg.Error):
        server.drop(schema)
