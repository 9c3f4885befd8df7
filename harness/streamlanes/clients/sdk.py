"""What the SDKs have in common: made by one generator, they name clients and errors alike and stand on
the same HTTP library. `sdk` is either of them."""

from importlib import import_module
from types import ModuleType
from typing import Any

from streamlanes.clients import httpx_like
from streamlanes.clients.base import Into, Setting, now_ns, refused
from streamlanes.clients.sending import CALL
from streamlanes.samples import Outcome

OPTIONAL = ("aiohttp", "click", "h2")
"""What an SDK loads wherever it is installed: a second HTTP client, and of the first one the command line
and HTTP/2."""
NO_RETRIES = 0
"""A failed call is a failed call: its outcome is what is measured."""
KEY = "none"
"""Nobody looks at it, but without one a client is not made."""


def library(sdk: ModuleType) -> ModuleType:
    """The HTTP library that the SDK stands on: httpx2, or httpx in older versions."""
    name: str = sdk.DefaultHttpxClient.__mro__[1].__module__
    return import_module(name.partition(".")[0])


def core(sdk: ModuleType) -> ModuleType:
    """What that stands on in turn: httpcore2, or httpcore. The first client would import it."""
    return import_module(library(sdk).__name__.replace("httpx", "httpcore"))


def options(sdk: ModuleType, setting: Setting, hook: Any, *, defaults: bool) -> dict[str, Any]:
    """For the SDK's own kind of HTTP client (`DefaultHttpxClient`, `DefaultAsyncHttpxClient`), which
    brings its default limits. hook: called with each request."""
    return {
        **httpx_like.options(library(sdk), setting, defaults=defaults),
        "event_hooks": {"request": [hook]},
    }


def origins(setting: Setting) -> list[str]:
    """Where the provider is, in the order of the calls: an SDK client has one such place."""
    return [setting.origin(call) for call in range(len(setting.addresses))]


async def asked(request: Any) -> None:
    """The request hook of an asynchronous client."""
    request.extensions["trace"] = httpx_like.atrace(CALL.get())


def asked_blocking(request: Any) -> None:
    """The request hook of a blocking client."""
    request.extensions["trace"] = httpx_like.trace(CALL.get())


def ended(error: Exception, sdk: ModuleType, into: Into) -> None:
    """End the call as an error of the SDK, or of its HTTP library, says; any other is raised again."""
    now = now_ns()
    if isinstance(error, sdk.APIStatusError) and error.response.status_code >= 300:
        into.end(refused(error.response.status_code), now)
    elif isinstance(error, sdk.APIConnectionError) and isinstance(error.__cause__, Exception):
        httpx_like.ended(error.__cause__, library(sdk), into)
    elif isinstance(error, sdk.APIError):  # it came within the stream
        into.failed()
        into.closed(now)
    elif isinstance(error, ValueError):  # bytes that are no text, text that is no JSON
        into.end(Outcome.PROTOCOL_ERROR, now)
    else:
        httpx_like.ended(error, library(sdk), into)
