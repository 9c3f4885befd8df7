"""aiohttp: one session a loop."""

from typing import Any

import aiohttp

from streamlanes.clients.base import HEADERS, Into, Setting, now_ns, refused
from streamlanes.clients.sending import sending
from streamlanes.clients.tls import client_context
from streamlanes.samples import Outcome


class Aiohttp:
    """A connector of as many connections as there are calls, and no time limit.

    defaults: the library's own limits of both kinds instead.
    """

    def __init__(self, setting: Setting, *, defaults: bool = False) -> None:
        self._setting = setting
        self._defaults = defaults
        self._session: aiohttp.ClientSession

    async def open(self) -> None:
        """Make the session."""
        setting = self._setting
        pool: dict[str, Any] = {"ssl": client_context(setting.tls_ca) or True}
        session: dict[str, Any] = {}
        if not self._defaults:
            pool |= {"limit": setting.calls, "force_close": setting.keep_alive is False}
            session["timeout"] = aiohttp.ClientTimeout(total=None)
        connector = aiohttp.TCPConnector(**pool)
        self._session = aiohttp.ClientSession(connector=connector, trace_configs=[_tracing()], **session)

    async def stream(self, into: Into) -> None:
        """One call of the session."""
        url = self._setting.origin(into.call) + into.path
        try:
            async with self._session.post(
                url, data=into.request, headers=HEADERS, trace_request_ctx=into
            ) as response:
                if response.status >= 300:
                    into.end(refused(response.status), now_ns())
                    return
                async for chunk in response.content.iter_any():
                    into.feed(chunk, now_ns())
                into.closed(now_ns())
        except TimeoutError:
            into.end(Outcome.CLIENT_TIMEOUT, now_ns())
        except aiohttp.ClientError as error:
            _ended(error, into)

    async def close(self) -> None:
        """Close the session and its connections."""
        await self._session.close()


def _tracing() -> aiohttp.TraceConfig:
    """Tells when a request has its connection."""

    async def connected(session: aiohttp.ClientSession, context: Any, params: object) -> None:
        sending(context.trace_request_ctx)

    config = aiohttp.TraceConfig()
    config.on_connection_create_end.append(connected)
    config.on_connection_reuseconn.append(connected)
    return config


def _ended(error: aiohttp.ClientError, into: Into) -> None:
    """End the call as the error says."""
    now = now_ns()
    if isinstance(error, aiohttp.ClientConnectorError):
        into.end(Outcome.CONNECT_ERROR, now)
    elif isinstance(error, aiohttp.ServerDisconnectedError):
        into.closed(now)
    elif isinstance(error, OSError):
        into.closed(now, reset=True)
    elif isinstance(error, aiohttp.ClientPayloadError):  # whether by a reset stands only in its text
        into.closed(now, reset="ConnectionResetError" in str(error))
    else:
        into.end(Outcome.PROTOCOL_ERROR, now)


def open_client(setting: Setting) -> Aiohttp:
    """With a pool of the cell's size."""
    return Aiohttp(setting)


def open_defaults(setting: Setting) -> Aiohttp:
    """With the library's defaults: 100 connections at once."""
    return Aiohttp(setting, defaults=True)
