"""The provider's peer: the usual way to write such a server, Starlette on uvicorn with uvloop and httptools.

A coroutine sleeps until a token is due and yields its event; everything else is as the libraries come.
`python -m starlette_server json|ready` is told what to serve as the provider is, serves the same calls at
the same due times with the same events, and stamps the same send times. `json`: a chunk is made
and dumped when it is due, as one writes it. `ready`: all of a call's are, as it begins.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamlanes.clients.base import now_ns
from streamlanes.provider import frames
from streamlanes.provider.ask import chat_ask
from streamlanes.provider.server import listen
from streamlanes.samples import Table
from streamlanes.wire.openai import PATH

BACKLOG = 65535


def event(
    call: int,
    delta: dict[str, str] | None,
    finish_reason: str | None = None,
    usage: dict[str, int] | None = None,
) -> str:
    """One chunk of a call, as the provider sends it to who asks for usage; the chunk of that has no delta."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    chunk = {
        "id": f"chatcmpl-{call:010d}",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": frames.MODEL,
        "system_fingerprint": None,
        "choices": [] if delta is None else [choice],
        "usage": usage,
    }
    return f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n"


def events(call: int, k: int, tokens: int, prompt_tokens: int) -> bytes:
    """What is written for a call's token k: the role before the first, the end after the last."""
    text = event(call, {"content": f" {frames.WORDS[(call + k) % len(frames.WORDS)]}"})
    if k == 0:
        text = event(call, {"role": "assistant", "content": ""}) + text
    if k == tokens - 1:
        usage = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": prompt_tokens + tokens,
        }
        text += event(call, {}, "stop") + event(call, None, usage=usage) + "data: [DONE]\n\n"
    return text.encode()


class Calls:
    """The schedule's calls as an application with one route. ready: see above."""

    def __init__(self, schedule: Table, stamps: Table, ready: bool) -> None:
        self._first, self._offset = schedule["first"], schedule["offset"]
        self._stamps = stamps
        self._ready = ready
        self.app = Starlette(routes=[Route(PATH, self.chat, methods=["POST"])])

    async def chat(self, request: Request) -> StreamingResponse:
        """Answer one call."""
        ask = chat_ask(await request.body(), padding=False, gzip=False)
        assert ask.call is not None, "a cell names its calls"
        base_ns = now_ns()
        for column in ("accepted", "seen"):  # the application does not see its connection being accepted
            self._stamps[column][ask.call] = base_ns
        return StreamingResponse(
            self._tokens(ask.call, ask.prompt_tokens, base_ns), media_type="text/event-stream"
        )

    async def _tokens(self, call: int, prompt_tokens: int, base_ns: int) -> AsyncIterator[bytes]:
        offset, sent = self._offset, self._stamps["sent"]
        rows = range(self._first[call], self._first[call + 1])
        count = len(rows)
        made = [events(call, k, count, prompt_tokens) for k in range(count)] if self._ready else []
        for k, row in enumerate(rows):
            await asyncio.sleep((base_ns + offset[row] - now_ns()) / 1e9)
            data = made[k] if made else events(call, k, count, prompt_tokens)
            sent[row] = now_ns()
            yield data


class Server(uvicorn.Server):
    """Says when it is up and ends with its standard input, as the provider does."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        asyncio.get_running_loop().add_reader(0, self._heard)
        ports = [one.getsockname()[1] for one in sockets]
        print(json.dumps({"word": "ready", "ports": ports, "tls_ports": []}), flush=True)

    def _heard(self) -> None:
        if not os.read(0, 4096):
            asyncio.get_running_loop().remove_reader(0)
            self.should_exit = True


def main() -> None:
    """Serve until standard input ends."""
    spec = json.loads(sys.stdin.readline())
    tables = [Table.open(spec[name]["path"], spec[name]["columns"]) for name in ("schedule", "stamps")]
    config = uvicorn.Config(
        Calls(*tables, ready=sys.argv[1] == "ready").app,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        backlog=BACKLOG,
        timeout_graceful_shutdown=1,
    )
    Server(config).run(listen(str(spec["host"]), spec["ports"]))


if __name__ == "__main__":
    main()
