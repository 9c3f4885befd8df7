"""httpx, blocking: one client that all threads share."""

from streamlanes.clients import httpx_like
from streamlanes.clients.base import HEADERS, Into, Setting, now_ns, refused
from streamlanes.clients.lean_httpx import httpx


class Httpx:
    """The blocking form of the same."""

    def __init__(self, setting: Setting, *, defaults: bool = False, http2: bool = False) -> None:
        self._setting = setting
        self._defaults = defaults
        self._http2 = http2
        self._client: httpx.Client

    async def open(self) -> None:
        """Make the client."""
        options = httpx_like.options(httpx, self._setting, defaults=self._defaults)
        if self._http2:
            options |= httpx_like.HTTP2
        self._client = httpx.Client(**options)

    async def stream(self, into: Into) -> None:
        """One call of the client."""
        url = self._setting.origin(into.call) + into.path
        hooks = {"trace": httpx_like.trace(into)}
        try:
            with self._client.stream(
                "POST", url, content=into.request, headers=HEADERS, extensions=hooks
            ) as response:
                if response.status_code >= 300:
                    into.end(refused(response.status_code), now_ns())
                    return
                for chunk in response.iter_bytes():
                    into.feed(chunk, now_ns())
                into.closed(now_ns())
        except httpx.HTTPError as error:
            httpx_like.ended(error, httpx, into)

    async def close(self) -> None:
        """Close the client and its connections."""
        self._client.close()


def open_client(setting: Setting) -> Httpx:
    """With a pool of the cell's size."""
    return Httpx(setting)


def open_defaults(setting: Setting) -> Httpx:
    """With the library's defaults: 100 connections at once, 5 s for each wait."""
    return Httpx(setting, defaults=True)


def open_http2(setting: Setting) -> Httpx:
    """Over HTTP/2, many calls to a connection."""
    return Httpx(setting, http2=True)
