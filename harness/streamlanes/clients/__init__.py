"""How a job waits for its tokens: a table of names, each with an asynchronous form, a blocking one, or both."""

from dataclasses import dataclass

from streamlanes.backends import Waits


@dataclass(frozen=True, kw_only=True)
class ClientInfo:
    """A client's forms ("module:attribute") and what the parent must know of it without importing it.

    network: whether it needs a provider. fds_per_call: descriptors one call holds in this process.
    needs: the import it cannot do without. libraries: imports whose versions the record tells, as far as
    they are loaded. dialect: the API of a client that decodes by itself; None for one that hands over
    bytes. pool: connections at once in one process by its library's default; None if nothing is in the
    calls' way. keeps: whether a connection is kept for a later call where nothing else is asked for; None
    for a client without any. defaults: it runs as its library comes; what is kept cannot be chosen.
    """

    forms: dict[Waits, str]
    network: bool
    fds_per_call: int
    needs: str | None = None
    libraries: tuple[str, ...] = ()
    dialect: str | None = None
    pool: int | None = None
    keeps: bool | None = None
    defaults: bool = False


BOTH = (Waits.ASYNC, Waits.BLOCKING)


def _forms(module: str, waits: tuple[Waits, ...] = BOTH, opener: str = "open_client") -> dict[Waits, str]:
    """A file a form: a cell of threads must not carry asyncio in its memory."""
    files = {Waits.ASYNC: module, Waits.BLOCKING: f"{module}_blocking"}
    return {each: f"streamlanes.clients.{files[each]}:{opener}" for each in waits}


def _library(
    name: str,
    *under: str,
    waits: tuple[Waits, ...] = BOTH,
    dialect: str | None = None,
    pool: int | None = None,
    defaults: bool = False,
) -> ClientInfo:
    """A client that is a library. under: the imports it stands on."""
    return ClientInfo(
        forms=_forms(name, waits, "open_defaults" if defaults else "open_client"),
        network=True,
        fds_per_call=1,
        needs=name,
        libraries=(name, *under),
        dialect=dialect,
        pool=pool,
        keeps=True,
        defaults=defaults,
    )


_HTTPX = ("httpx2", "httpcore2", "httpx", "httpcore", "h11")
"""What an SDK stands on: the first two, or in older versions the next two."""
_ASYNC, _BLOCKING = (Waits.ASYNC,), (Waits.BLOCKING,)

CLIENTS: dict[str, ClientInfo] = {
    "timer": ClientInfo(forms=_forms("timer"), network=False, fds_per_call=0),
    "streams": ClientInfo(forms=_forms("streams"), network=True, fds_per_call=1, keeps=False),
    "floor": ClientInfo(forms=_forms("floor"), network=True, fds_per_call=1, keeps=False),
    "aiohttp": _library("aiohttp", waits=_ASYNC),
    "aiohttp-defaults": _library("aiohttp", waits=_ASYNC, pool=100, defaults=True),
    "httpx": _library("httpx", "httpcore", "h11"),
    "httpx-defaults": _library("httpx", "httpcore", "h11", pool=100, defaults=True),
    "requests": _library("requests", "urllib3", waits=_BLOCKING),
    # Its pool of 10 is of connections that are kept: it opens more beside them.
    "requests-defaults": _library("requests", "urllib3", waits=_BLOCKING, defaults=True),
    "openai": _library("openai", *_HTTPX, dialect="openai"),
    "openai-defaults": _library("openai", *_HTTPX, dialect="openai", pool=1000, defaults=True),
    "anthropic": _library("anthropic", *_HTTPX, waits=_ASYNC, dialect="anthropic"),
    "anthropic-defaults": _library(
        "anthropic", *_HTTPX, waits=_ASYNC, dialect="anthropic", pool=1000, defaults=True
    ),
}
