"""How a job waits for its tokens: a table of names, each in an asynchronous form, a blocking one, or both."""

from dataclasses import dataclass, replace

from streamlanes.backends import Waits


@dataclass(frozen=True, kw_only=True)
class ClientInfo:
    """A client's forms ("module:attribute") and what the parent must know of it without importing it.

    network: whether it needs a provider. fds_per_call: descriptors one call holds in this process. needs:
    the imports it cannot do without. libraries: imports whose versions the record tells, as far as they
    are loaded. dialect: the API of a client that decodes by itself, empty where a person's function
    decides it; None for one that hands over bytes. http2: whether it speaks that and nothing else. keeps:
    whether a connection is kept for a later call where nothing is asked for; None for a client without
    any, and where the function decides. chooses: whether that can be asked for. pool: connections at once
    in one process by the library's default; None if nothing is in the calls' way. widen: how a program
    asks for another number.
    """

    forms: dict[Waits, str]
    network: bool
    fds_per_call: int
    needs: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    dialect: str | None = None
    http2: bool = False
    keeps: bool | None = None
    chooses: bool = False
    pool: int | None = None
    widen: str = ""


_BOTH, _ASYNC, _BLOCKING = (Waits.ASYNC, Waits.BLOCKING), (Waits.ASYNC,), (Waits.BLOCKING,)


def _forms(module: str, waits: tuple[Waits, ...] = _BOTH, opener: str = "open_client") -> dict[Waits, str]:
    """A file a form: a cell of threads must not carry asyncio in its memory."""
    files = {Waits.ASYNC: module, Waits.BLOCKING: f"{module}_blocking"}
    return {each: f"streamlanes.clients.{files[each]}:{opener}" for each in waits}


def _library(
    name: str,
    *under: str,
    waits: tuple[Waits, ...] = _BOTH,
    dialect: str | None = None,
    pool: int | None = None,
    widen: str = "",
) -> dict[str, ClientInfo]:
    """A library with a pool of the cell's size, and as it comes. under: the imports it stands on."""
    sized = ClientInfo(
        forms=_forms(name, waits),
        network=True,
        fds_per_call=1,
        needs=(name,),
        libraries=(name, *under),
        dialect=dialect,
        keeps=True,
        chooses=True,
    )
    as_it_comes = replace(
        sized, forms=_forms(name, waits, "open_defaults"), chooses=False, pool=pool, widen=widen
    )
    return {name: sized, f"{name}-defaults": as_it_comes}


_HTTPX = ("httpx2", "httpcore2", "httpx", "httpcore", "h11")
"""What an SDK stands on: the first two, or in older versions the next two."""
_SDK_WIDEN = "http_client=DefaultAsyncHttpxClient(limits=Limits(max_connections={}))"

NOTHING = ClientInfo(
    forms=dict.fromkeys(Waits, "streamlanes.clients.nothing:open_client"), network=False, fds_per_call=0
)
"""Of jobs that wait for no token. A lane that has such jobs names it; it is no client for calls."""

CALL = "call"
"""The client that calls a person's own function."""

CLIENTS: dict[str, ClientInfo] = {
    "timer": ClientInfo(forms=_forms("timer"), network=False, fds_per_call=0),
    "streams": ClientInfo(forms=_forms("streams"), network=True, fds_per_call=1, keeps=False),
    "floor": ClientInfo(forms=_forms("floor"), network=True, fds_per_call=1, keeps=False),
    **_library("aiohttp", waits=_ASYNC, pool=100, widen="aiohttp.TCPConnector(limit={})"),
    **_library("httpx", "httpcore", "h11", pool=100, widen="limits=httpx.Limits(max_connections={})"),
    "httpx-http2": ClientInfo(
        forms=_forms("httpx", opener="open_http2"),
        network=True,
        fds_per_call=1,
        needs=("httpx", "h2"),
        libraries=("httpx", "httpcore", "h2"),
        http2=True,
        keeps=True,
        pool=100,  # it puts so many calls on a connection, and makes no second one to the same port
        widen="HTTP/1.1, or a client of its own for each 100 of {} calls",
    ),
    # No cap: its pool of 10 is of connections that are kept, and it opens more beside them.
    **_library("requests", "urllib3", waits=_BLOCKING),
    **_library("openai", *_HTTPX, dialect="openai", pool=1000, widen=_SDK_WIDEN),
    **_library("anthropic", *_HTTPX, waits=_ASYNC, dialect="anthropic", pool=1000, widen=_SDK_WIDEN),
    # A person's own: it decodes by itself and speaks as it likes; one descriptor at the least.
    CALL: ClientInfo(forms=_forms("call"), network=True, fds_per_call=1, dialect=""),
}
