"""The FastAPI app over the rows: executions are begun, looked at and heard of over HTTP.

  POST /executions/{number}   begins one: 202, or 409 where it is there
  GET  /executions/{number}   its row, or 404
  GET  /events                what ends, as server-sent events: "data: 17 done"

Behind it, in the same process, its workers carry executions on. They listen to PostgreSQL like the
workers of any other process would: all hear of a row that begins, and one of them gets it.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse

from streamlanes.architectures.rows import BEGUN, Row, Rows
from streamlanes.durable.architecture import Steps
from streamlanes.durable.state import encode
from streamlanes.durable.waits import Waits

WORKERS = 2
"""Workers that race for what begins."""
QUIET_S = 30.0
"""A row that was not changed for so long is taken up by another worker."""
SWEEP_S = 5.0
"""Between two looks for such rows."""
UNREAD = 10_000
"""Most events a slow reader may leave unread before it is cut off."""

Heard = AsyncIterator[str]
"""Notifications' texts, as PostgreSQL tells them."""

Watch = Callable[["asyncio.Task[None]"], None]
"""Is given every task of the app: one that ends with an error is for the app to end with."""


class Hall:
    """Whoever reads events, and what they have not read yet."""

    def __init__(self) -> None:
        self._readers: set[asyncio.Queue[str | None]] = set()

    async def events(self) -> AsyncIterator[str]:
        """Events from now on, until it closes."""
        mine: asyncio.Queue[str | None] = asyncio.Queue(UNREAD)
        self._readers.add(mine)
        try:
            yield ": listening\n\n"
            while mine in self._readers and (event := await mine.get()) is not None:
                yield f"data: {event}\n\n"
        finally:
            self._readers.discard(mine)

    def tell(self, event: str | None) -> None:
        """Tell all; one who has too much unread hears no more."""
        for reader in list(self._readers):
            try:
                reader.put_nowait(event)
            except asyncio.QueueFull:
                self._readers.discard(reader)

    def close(self) -> None:
        """Let the readers go: a server does not end while one of them waits."""
        self.tell(None)


class Carriers:
    """The workers. conflicts: changes that came second, races for what began included."""

    def __init__(
        self, rows: Rows, steps: Steps, waits: Waits, watch: Watch, quiet_s: float = QUIET_S
    ) -> None:
        self.conflicts = 0
        self._rows = rows
        self._steps = steps
        self._waits = waits
        self._watch = watch
        self._quiet_s = quiet_s
        self._going: set[asyncio.Task[None]] = set()
        self._ending: dict[int, asyncio.Task[Any] | None] = {}

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done until they stop."""
        task = asyncio.create_task(work)
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        self._watch(task)

    def race(self, row: Row) -> None:
        """All workers hear of a row. Their names are new in each race: it may be the second for the same
        row, or one of several in as many processes, and then a name that comes again would win both."""
        token = secrets.token_hex(8)
        for number in range(WORKERS):
            self.begin(self._carry_on(row, f"worker-{number} {token}"))

    async def sweep(self) -> None:
        """Take up what nobody works on, again and again."""
        while True:
            for row in await asyncio.to_thread(self._rows.quiet, self._quiet_s):
                self.race(row)
            await asyncio.sleep(SWEEP_S)

    async def settled(self, execution: int) -> None:
        """Wait until the worker knows that kept its last step: PostgreSQL tells all of the end at once, and
        the worker may be the last to hear of it."""
        if (task := self._ending.get(execution)) is not None:
            await asyncio.wait([task])

    async def stop(self) -> None:
        """Leave everything where it is."""
        for task in self._going:
            task.cancel()
        await asyncio.gather(*self._going, return_exceptions=True)

    async def _carry_on(self, seen: Row, owner: str) -> None:
        """Step after step, until another was faster."""
        row = await self._waits.result(self._rows.take(seen, owner))
        while row is not None and row.status == "open":
            try:
                made = await self._steps.work(row.execution, row.step)
                state = encode(f"e{row.execution}", made.state)
            except Exception:  # whoever began it is told that it failed
                await self._waits.result(self._rows.fail(row))
                return
            if made.last:
                self._ending[row.execution] = asyncio.current_task()
            row = await self._waits.result(self._rows.keep(row, state, last=made.last))
            if row is not None:
                self._steps.kept(row.execution, row.step - 1)
        self.conflicts += row is None
        if self._ending.get(seen.execution) is asyncio.current_task():
            del self._ending[seen.execution]


def make_app(
    rows: Rows, heard: Heard, carriers: Carriers, hall: Hall, waits: Waits, executions: int
) -> FastAPI:
    """The app. executions: how many there may be."""

    async def hear() -> None:
        async for text in heard:
            what, _, rest = text.partition(" ")
            if what == BEGUN:
                carriers.race(Row(int(rest), 0, 0, "", "open"))
            else:
                hall.tell(rest)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        carriers.begin(hear())
        carriers.begin(carriers.sweep())
        try:
            yield
        finally:
            await carriers.stop()

    app = FastAPI(lifespan=lifespan, openapi_url=None)

    def known(number: int) -> int:
        if not 0 <= number < executions:
            raise HTTPException(404, f"there is no execution {number}; there are {executions:,}, from 0")
        return number

    @app.post("/executions/{number}", status_code=202)
    async def begin(number: int) -> dict[str, int]:
        if not await waits.result(rows.create(known(number))):
            raise HTTPException(409, f"execution {number} is there already")
        return {"execution": number}

    @app.get("/executions/{number}")
    def look(number: int) -> dict[str, Any]:
        row = rows.read(known(number))
        if row is None:
            raise HTTPException(404, f"there is no execution {number}; begin it with POST")
        return asdict(row)

    @app.get("/events")
    async def events() -> StreamingResponse:
        return StreamingResponse(hall.events(), media_type="text/event-stream")

    return app
