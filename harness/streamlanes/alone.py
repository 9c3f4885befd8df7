"""The simulated provider alone: `streamlanes provider`, for anyone's client."""

import asyncio
import os
import signal
import socket
import tempfile
from pathlib import Path

import numpy as np
import uvloop

from streamlanes import certificate
from streamlanes.cells import Axes, Cell, check
from streamlanes.errors import UserError
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.routes import CHAT, MESSAGES
from streamlanes.provider.server import listen, serve
from streamlanes.provider.streams import Streams
from streamlanes.provider.tls import server_context
from streamlanes.providers import TICK_NS
from streamlanes.samples import Table, provider_columns, schedule_columns
from streamlanes.workload import build


def serve_alone(
    host: str,
    ports: tuple[int, int],
    workload: str,
    calls: int,
    axes: Axes,
    behaviour: Behaviour | None,
) -> None:
    """Serve until SIGINT or SIGTERM. Raises UserError for a port that cannot be had.

    ports: for plain HTTP and for HTTPS.
    """
    cell = Cell(
        lane="io",
        backend="asyncio",
        client="streams",
        workload=workload,
        calls=calls,
        axes=axes,
        provider=behaviour,
    )
    check(cell)
    schedule = build(cell.load(), calls).in_chunks(cell.tokens_per_chunk)
    table = Table.create("schedule", schedule_columns(schedule.calls, schedule.tokens))
    stamps = Table.create("provider", provider_columns(schedule.calls, schedule.tokens))
    columns = (("start", schedule.start_ns), ("first", schedule.first), ("offset", schedule.offset_ns))
    for name, values in columns:
        np.asarray(table[name])[:] = values
    plain = _listen(host, ports[0])
    try:
        secure = _listen(host, ports[1])
    except UserError:
        plain.close()
        raise

    async def until_told() -> None:
        loop = asyncio.get_running_loop()
        stop: asyncio.Future[None] = loop.create_future()

        def told() -> None:
            if not stop.done():
                stop.set_result(None)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, told)
        streams = Streams(loop, table, stamps, TICK_NS, hold=False, behaviour=behaviour or Behaviour())
        with tempfile.TemporaryDirectory(prefix="streamlanes-") as folder:
            made = _certificate(folder, host)
            for scheme, each in (("http", plain), ("https", secure)):
                for path in (CHAT, MESSAGES):
                    print(f"{scheme}://{host}:{each.getsockname()[1]}{path.decode()}")
            print(f"certificate to trust: {made.trusted}", flush=True)
            await serve(streams, stop, [plain], [secure], server_context(made.trusted, made.key))

    uvloop.run(until_told())


def _listen(host: str, port: int) -> socket.socket:
    if not host or not host.isprintable():
        raise UserError(f"host is {host!r}; name an address to listen on, such as 127.0.0.1")
    try:
        return listen(host, [port])[0]
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error
        raise UserError(f"cannot listen on {host} port {port}: {why}; name another port or host") from None


def _certificate(folder: str | Path, host: str) -> certificate.Certificate:
    """Good for this machine's own names and for the host that is listened on."""
    try:
        return certificate.make(folder, [*certificate.NAMES, host])
    except ValueError:
        raise UserError(f"host {host!r} cannot stand in a certificate; name an IP address") from None
