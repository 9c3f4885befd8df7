"""What the real tests share."""

from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from streamlanes.errors import UserError
from streamlanes.local_postgres import Local, postgres

NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[Local]:
    """A real PostgreSQL for the tests of a module."""
    try:
        with postgres() as found:
            yield found
    except UserError as why:
        pytest.skip(f"not tested: {why}")


@pytest.fixture
def schema(server: Local) -> Iterator[str]:
    """A schema of one test, gone after it."""
    name = f"test_{next(NUMBERS)}"
    yield name
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())
