"""The store that a command of `streamlanes durable` is about: how a person names it, and opening it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from streamlanes.durable.database import Database
from streamlanes.durable.errors import DurableError, NoStore
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
    """The store, closed after the block. It must be there, for what is asked about is not made by asking,
    and what is somebody else's is left as it is; `make`: a file that is not there, or a schema, may be made.

    Raises UserError in place of every DurableError within, too, and for text that is not UTF-8.
    """
    from streamlanes.durable.opening import SERVER, open_database

    server = db.startswith(SERVER)
    try:
        schema.encode()  # the pool would try that for a minute
        may = make and (server or not Path(db).exists())
        with contextlib.closing(open_database(db, schema=schema, make=may)) as database:
            yield database
    except NoStore as error:
        where = f"its file, or postgresql://..., with --db or in {VARIABLE}"
        which = "its schema with --schema" if server else where
        raise UserError(f"{error.what}; name {which}") from None
    except DurableError as error:
        raise UserError(str(error)) from None
    except UnicodeEncodeError as error:
        raise UserError(f"{error.object[:40]!r} is not UTF-8; a store keeps nothing else") from None


def shown(db: str) -> str:
    """A store as it may be printed: the address of a server may hold a password."""
    from streamlanes.durable.opening import SERVER

    return "the server's store" if db.startswith(SERVER) else db


def no_execution(thread_id: str, db: str) -> UserError:
    """The error for an execution that a store does not have."""
    return UserError(f"no execution {thread_id!r} in {shown(db)}; list all with `streamlanes durable audit`")
