"""The store that a command of `streamlanes durable` is about: how a person names it, and opening it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from streamlanes.durable.database import Database
from streamlanes.durable.errors import DurableError
from streamlanes.errors import UserError

VARIABLE = "STREAMLANES_STORE"

Where = Annotated[
    str,
    typer.Option("--db", envvar=VARIABLE, help="The store: a file of SQLite, or postgresql://..."),
]
Schema = Annotated[str, typer.Option("--schema", help="PostgreSQL's schema.")]

HERE = "agents.db"
SCHEMA = "streamlanes"


@contextlib.contextmanager
def opened(db: str, schema: str, *, make: bool = False) -> Iterator[Database]:
    """The store, closed after the block. It must be there, for what is asked about is not made by asking;
    `make`: it may be made. Raises UserError in place of every DurableError within, too."""
    from streamlanes.durable.opening import SERVER, open_database

    if not db.startswith(SERVER) and not make and not Path(db).is_file():
        raise UserError(f"no store at {db}; name its file, or postgresql://..., with --db or in {VARIABLE}")
    try:
        with contextlib.closing(open_database(db, schema=schema)) as database:
            yield database
    except DurableError as error:
        raise UserError(str(error)) from None


def shown(db: str) -> str:
    """A store as it may be printed: the address of a server may hold a password."""
    from streamlanes.durable.opening import SERVER

    return "the server's store" if db.startswith(SERVER) else db
