"""What httpx and httpx2, on which the SDKs stand, have in common: options, hooks and errors by the same
names. `library` is either of them."""

import ssl
from collections.abc import Callable, Coroutine
from types import ModuleType
from typing import Any

from streamlanes.clients.base import Into, Setting, now_ns
from streamlanes.clients.sending import sending
from streamlanes.clients.tls import client_context
from streamlanes.samples import Outcome

_WRITES = ".send_request_headers.started"
"""How the event is called, behind the protocol's name, in which a request is about to be written."""

HTTP2 = {"http1": False, "http2": True}
"""Options of a client that speaks nothing else."""


def options(library: ModuleType, setting: Setting, *, defaults: bool) -> dict[str, Any]:
    """A client's options for as many connections as there are calls and no time limit.

    defaults: the library's own limits of both kinds instead. Plain HTTP has a context that trusts nobody:
    without one the library would read the whole list of public authorities.
    """
    context = client_context(setting.tls_ca) or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    common: dict[str, Any] = {"verify": context, "trust_env": False}
    if defaults:
        return common
    kept = 0 if setting.keep_alive is False else setting.calls
    limits = library.Limits(max_connections=setting.calls, max_keepalive_connections=kept)
    return {**common, "limits": limits, "timeout": None}


async def load_the_rest() -> None:
    """Import what the first asynchronous call would: anyio's part for this event loop."""
    import anyio

    await anyio.sleep(0)


def trace(into: Into) -> Callable[[str, Any], None]:
    """The "trace" extension of a blocking request."""

    def seen(event: str, info: Any) -> None:
        if event.endswith(_WRITES):
            sending(into)

    return seen


def atrace(into: Into) -> Callable[[str, Any], Coroutine[Any, Any, None]]:
    """The "trace" extension of an asynchronous request."""

    async def seen(event: str, info: Any) -> None:
        if event.endswith(_WRITES):
            sending(into)

    return seen


def ended(error: Exception, library: ModuleType, into: Into) -> None:
    """End the call as one of the library's errors says; any other is raised again."""
    now = now_ns()
    if isinstance(error, library.PoolTimeout):
        into.end(Outcome.CLIENT_POOL_TIMEOUT, now)
    elif isinstance(error, library.TimeoutException):
        into.end(Outcome.CLIENT_TIMEOUT, now)
    elif isinstance(error, library.ConnectError):
        into.end(Outcome.CONNECT_ERROR, now)
    elif isinstance(error, library.NetworkError):
        into.closed(now, reset=True)
    elif isinstance(error, library.RemoteProtocolError) and _is_cut(str(error)):
        into.closed(now, reset="StreamReset" in str(error))
    elif isinstance(error, library.HTTPError):
        into.end(Outcome.PROTOCOL_ERROR, now)
    else:
        raise error


def _is_cut(text: str) -> bool:
    """Whether the peer closed in the middle of an answer or before it, or reset a call of HTTP/2. Only the
    text tells that from an answer that is malformed."""
    return any(words in text for words in ("without sending", "Server disconnected", "StreamReset"))
