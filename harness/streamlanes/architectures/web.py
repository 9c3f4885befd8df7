"""FastAPI + Postgres and nothing else: the rows, behind the app on uvicorn, used over HTTP.

Executions are begun over a few connections that are kept, and one more brings the news of their ends:
whoever waits for an execution holds no connection of its own.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import asdict

import uvicorn

from streamlanes.architectures.app import Carriers, Hall, make_app
from streamlanes.architectures.endings import Endings
from streamlanes.architectures.listening import Listener
from streamlanes.architectures.rows import Rows
from streamlanes.durable.architecture import Grounds, StepFailed, Steps
from streamlanes.durable.waits import Waits

CONNECTIONS = 8
KEEP_S = 600
"""How long the app keeps a connection that says nothing."""
MAX_LINE = 16_384


class Web:
    """The app, its workers and its users, in one event loop."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds
        self._channel = f"{grounds.schema}_executions"

    def open(self) -> None:
        """Open the database and a port."""
        self._database = self._grounds.open_database()
        self.durability = self._database.durability
        self._rows = Rows(self._database, self._channel)
        self._rows.lay().result()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]

    async def start(self, steps: Steps, waits: Waits) -> None:
        """Serve, and begin to read what is told."""
        self._endings = Endings()
        self._carriers, self._hall = Carriers(self._rows, steps, waits, self._watch), Hall()
        self._listener = Listener(self._grounds.where, self._rows, self._channel)
        await self._listener.open()
        heard = self._listener.heard()
        app = make_app(self._rows, heard, self._carriers, self._hall, waits, self._grounds.executions)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            ws="none",
            timeout_keep_alive=KEEP_S,
            timeout_graceful_shutdown=2,
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        self._endings.watch(self._serving)
        self._free: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
        self._all = [Connection(*self.address) for _ in range(CONNECTIONS)]
        for each in self._all:
            self._free.put_nowait(each)
        self._news = Connection(*self.address)
        self._told = asyncio.Event()
        self._reading = asyncio.create_task(self._read_news())
        self._endings.watch(self._reading)
        told = asyncio.create_task(self._told.wait())
        await asyncio.wait([told, self._serving, self._reading], return_when=asyncio.FIRST_COMPLETED)
        for task in (self._serving, self._reading):
            if task.done():  # neither ends by itself
                told.cancel()
                task.result()

    async def run(self, execution: int) -> None:
        """Begin it over HTTP, and wait for the news of its end."""
        ended = self._endings.expect(execution)
        connection = await self._free.get()
        try:
            status = await connection.post(f"/executions/{execution}")
        except (OSError, EOFError):
            if ended.done():  # the app is over, and this says why
                await ended
            raise
        finally:
            self._free.put_nowait(connection)
        if status != 202:
            raise StepFailed(f"execution {execution} was not begun: the app answered {status}")
        await ended
        await self._carriers.settled(execution)

    def left(self) -> Mapping[int, int]:
        """Steps done, by execution."""
        return self._rows.left()

    def facts(self) -> Mapping[str, int | float]:
        """The database's counts, and changes that came second."""
        return {**asdict(self._database.counts), "conflicts": self._carriers.conflicts}

    async def stop(self) -> None:
        """End the readers, then the server."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._hall.close()
        for connection in (self._news, *self._all):
            connection.close()
        self._server.should_exit = True
        await asyncio.gather(self._serving, return_exceptions=True)
        await self._listener.close()

    def close(self) -> None:
        """Close the port and the database."""
        self._socket.close()
        self._database.close()

    def _watch(self, task: "asyncio.Task[None]") -> None:
        """See app.Watch: what ends one of its tasks ends the executions, now and later, and the server."""
        self._endings.watch(task)
        task.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and task.exception() is not None:
            self._hall.close()
            self._server.should_exit = True

    async def _read_news(self) -> None:
        async for line in self._news.lines("/events"):
            self._told.set()
            if line.startswith("data: "):
                execution, how = line.removeprefix("data: ").split()
                error = None if how == "done" else StepFailed(f"execution {execution} {how}")
                self._endings.over(int(execution), error)
        raise ConnectionError("the app ended its events")


class _Server(uvicorn.Server):
    """Uvicorn beside other work: signals are not its own to take."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Connection:
    """Requests over one connection, one at a time; it is made when it is first used."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str) -> int:
        """POST nothing; returns the status. Raises OSError and EOFError for a connection that broke."""
        reader = await self._ask("POST", path, "content-length: 0\r\n")
        try:
            status, size = await self._head(reader)
            await reader.readexactly(size)
        except BaseException:  # what is left of the answer would be the next one's
            self.close()
            raise
        return status

    async def lines(self, path: str) -> AsyncIterator[str]:
        """GET an answer that does not end, line by line, with the lines that frame its chunks."""
        reader = await self._ask("GET", path, "")
        await self._head(reader)
        while line := await reader.readline():
            yield line.decode().rstrip()

    def close(self) -> None:
        """Let go; a later request makes a new connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _ask(self, method: str, path: str, more: str) -> asyncio.StreamReader:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=MAX_LINE)
        reader, writer = self._streams
        writer.write(f"{method} {path} HTTP/1.1\r\nhost: {self._host}\r\n{more}\r\n".encode())
        await writer.drain()
        return reader

    @staticmethod
    async def _head(reader: asyncio.StreamReader) -> tuple[int, int]:
        """Status, and size of the body as far as it is told."""
        first = await reader.readline()
        if not first:
            raise EOFError("the app closed the connection")
        status, size = int(first.split()[1]), 0
        while line := (await reader.readline()).strip().lower():
            if line.startswith(b"content-length:"):
                size = int(line.partition(b":")[2])
        return status, size
