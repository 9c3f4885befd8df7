"""httpx, asynchronous: one client a loop."""

from streamlanes.clients import httpx_like
from streamlanes.clients.base import HEADERS, Into, Setting, now_ns, refused
from streamlanes.clients.lean_httpx import httpx


class Httpx:
    """A pool of as many connections as there are calls, and no time limit.

    defaults: the library's own limits of both kinds instead. http2: that alone, known beforehand.
    """

    def __init__(self, setting: Setting, *, defaults: bool = False, http2: bool = False) -> None:
        self._setting = setting
        self._defaults = defaults
        self._http2 = http2
        self._client: httpx.AsyncClient

    async def open(self) -> None:
        """Make the client."""
        options = httpx_like.options(httpx, self._setting, defaults=self._defaults)
        if self._http2:
            options |= httpx_like.HTTP2
        self._client = httpx.AsyncClient(**options)
        await httpx_like.load_the_rest()

    async def stream(self, into: Into) -> None:
        """One call of the client."""
        url = self._setting.origin(into.call) + into.path
        hooks = {"trace": httpx_like.atrace(into)}
        try:
            async with self._client.stream(
                "POST", url, content=into.request, headers=HEADERS, extensions=hooks
            ) as response:
                if response.status_code >= 300:
                    into.end(refused(response.status_code), now_ns())
                    return
                async for chunk in response.aiter_bytes():
                    into.feed(chunk, now_ns())
                into.closed(now_ns())
        except httpx.HTTPError as error:
            httpx_like.ended(error, httpx, into)

    async def close(self) -> None:
        """Close the client and its connections."""
        await self._client.aclose()


def open_client(setting: Setting) -> Httpx:
    """With a pool of the cell's size."""
    return Httpx(setting)


def open_defaults(setting: Setting) -> Httpx:
    """With the library's defaults: 100 connections at once, 5 s for each wait."""
    return Httpx(setting, defaults=True)


def open_http2(setting: Setting) -> Httpx:
    """Over HTTP/2, many calls to a connection."""
    return Httpx(setting, http2=True)
