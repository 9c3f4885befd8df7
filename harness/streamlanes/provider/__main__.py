"""Main of a provider process: `python -m streamlanes.provider`, told what to serve on standard input.

parent -> spec    provider -> {"word": "ready", "ports": [...], "tls_ports": [...]}
                            or {"word": "failed", "reason": text}
end of standard input: stop. A provider never outlives the process that holds its input.
"""

import asyncio
import gc
import json
import os
import sys
from typing import Any

import msgspec
import uvloop

from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.connection import Newer
from streamlanes.provider.server import listen, serve
from streamlanes.provider.streams import Streams
from streamlanes.provider.tls import server_context
from streamlanes.samples import Table


async def _main(spec: dict[str, Any], tables: tuple[Table, Table]) -> None:
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[None] = loop.create_future()

    def over() -> None:
        if not os.read(0, 4096) and not stop.done():
            loop.remove_reader(0)
            stop.set_result(None)

    loop.add_reader(0, over)
    behaviour = msgspec.convert(spec["behaviour"], Behaviour)
    streams = Streams(
        loop,
        *tables,
        int(spec["tick_ns"]),
        hold=bool(spec["hold"]),
        behaviour=behaviour,
        marked_only=True,
    )
    plain, secure = (listen(str(spec["host"]), spec[which]) for which in ("ports", "tls_ports"))
    newer: Newer | None = None
    if spec["http2"]:  # its library is there for those clients only
        from streamlanes.provider.http2 import Http2 as newer
    context = server_context(*spec["certificate"], http2=spec["http2"]) if spec["certificate"] else None
    ports, tls_ports = ([each.getsockname()[1] for each in sockets] for sockets in (plain, secure))
    print(json.dumps({"word": "ready", "ports": ports, "tls_ports": tls_ports}), flush=True)
    await serve(streams, stop, plain, secure, context, http2=newer)


def main() -> None:
    """Serve until standard input ends."""
    spec = json.loads(sys.stdin.readline())
    schedule = Table.open(spec["schedule"]["path"], spec["schedule"]["columns"])
    stamps = Table.open(spec["stamps"]["path"], spec["stamps"]["columns"])
    # A collection would stop every stream at once; what a stream needs holds no cycles once it is over.
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        uvloop.run(_main(spec, (schedule, stamps)))
    except OSError as error:
        print(json.dumps({"word": "failed", "reason": str(error)}), flush=True)


if __name__ == "__main__":
    main()
