"""What PostgreSQL tells, heard over a connection that is made again where it breaks.

What is told while nobody listens is kept nowhere: after a break the rows themselves say what it was. So
something may be heard twice.
"""

import asyncio
import itertools
import random
import time
from collections.abc import AsyncIterator
from typing import Any

import psycopg
from psycopg import sql

from streamlanes.architectures.rows import Rows
from streamlanes.durable.errors import Unreachable
from streamlanes.durable.postgres import AGAIN, LOST, PATIENCE_S


class Listener:
    """One connection, in an event loop. patience_s: how long the server may be away."""

    def __init__(self, where: str, rows: Rows, channel: str, patience_s: float = PATIENCE_S) -> None:
        self._where = where
        self._rows = rows
        self._channel = channel
        self._patience_s = patience_s
        self._draw = random.Random()

    async def open(self) -> None:
        """Listen from now on. Raises psycopg.Error."""
        made: psycopg.AsyncConnection[Any] = await psycopg.AsyncConnection.connect(
            self._where, autocommit=True, connect_timeout=5
        )
        self._connection = made
        await made.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))

    async def heard(self) -> AsyncIterator[str]:
        """Texts as they are told. Raises DurableError where the server is away for too long."""
        while True:
            try:
                async for notice in self._connection.notifies():
                    yield notice.payload
            except LOST:
                await self._open_again()
            for text in await asyncio.to_thread(self._rows.told):
                yield text

    async def close(self) -> None:
        """Hear no more."""
        await self._connection.close()

    async def _open_again(self) -> None:
        until = time.monotonic() + self._patience_s
        for attempt in itertools.count(1):
            await self.close()
            try:
                await self.open()
            except LOST as error:
                if time.monotonic() > until:
                    remedy = "see that PostgreSQL is there and has a connection to spare, and start it again"
                    raise Unreachable(None, f"nobody tells of its rows any more ({error})", remedy) from None
                await asyncio.sleep(AGAIN.wait_s(attempt, self._draw))
            else:
                return
