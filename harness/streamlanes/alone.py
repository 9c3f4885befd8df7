"""The simulated provider alone: `streamlanes provider`, for anyone's client."""

import asyncio
import os
import signal

import numpy as np
import uvloop

from streamlanes.cells import Axes, Cell, check
from streamlanes.errors import UserError
from streamlanes.provider.server import listen, serve
from streamlanes.provider.streams import Streams
from streamlanes.providers import TICK_NS
from streamlanes.samples import Table, provider_columns, schedule_columns
from streamlanes.workload import build


def serve_alone(host: str, port: int, workload: str, calls: int, axes: Axes) -> None:
    """Serve until SIGINT or SIGTERM. Raises UserError for a port that cannot be had."""
    cell = Cell(lane="io", backend="asyncio", client="streams", workload=workload, calls=calls, axes=axes)
    check(cell)
    schedule = build(cell.load(), calls)
    table = Table.create("schedule", schedule_columns(schedule.calls, schedule.tokens))
    stamps = Table.create("provider", provider_columns(schedule.calls, schedule.tokens))
    columns = (("start", schedule.start_ns), ("first", schedule.first), ("offset", schedule.offset_ns))
    for name, values in columns:
        np.asarray(table[name])[:] = values
    if not host or not host.isprintable():
        raise UserError(f"host is {host!r}; name an address to listen on, such as 127.0.0.1")
    try:
        sockets = listen(host, [port])
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error
        raise UserError(f"cannot listen on {host} port {port}: {why}; name another with --port") from None

    async def until_told() -> None:
        loop = asyncio.get_running_loop()
        stop: asyncio.Future[None] = loop.create_future()

        def told() -> None:
            if not stop.done():
                stop.set_result(None)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, told)
        streams = Streams(loop, table, stamps, tick_ns=TICK_NS, hold=False)
        print(f"http://{host}:{sockets[0].getsockname()[1]}/v1/chat/completions", flush=True)
        await serve(streams, stop, sockets)

    uvloop.run(until_told())
