"""Whether a cell can be put together at all: the client has the form its backend needs, and the libraries
of both are installed."""

import importlib.util
from collections.abc import Mapping

from streamlanes.backends import BACKENDS, Waits
from streamlanes.clients import CLIENTS

EXTRA = "streamlanes[clients]"
"""What brings every client's library."""
_FORMS = {Waits.ASYNC: "asynchronous", Waits.BLOCKING: "blocking"}


def fits(backend: str, client: str) -> bool:
    """Whether the client has the form that the backend needs; a name that does not exist is for others to
    refuse."""
    return backend not in BACKENDS or client not in CLIENTS or misfit(backend, client) is None


def misfit(backend: str, client: str) -> str | None:
    """Why this client does not run under this backend, with one under which it does; None where it does."""
    waits, forms = BACKENDS[backend].waits, CLIENTS[client].forms
    if waits in forms:
        return None
    other = next(name for name, info in BACKENDS.items() if info.waits in forms)
    return f"{client} has no {_FORMS[waits]} form; run it under {other}, say"


def imports(backend: str, client: str) -> Mapping[str, str]:
    """The imports that both cannot do without -> what pip installs for them."""
    library = BACKENDS[backend].needs
    return {**({library: library} if library else {}), **dict.fromkeys(CLIENTS[client].needs, f"'{EXTRA}'")}


def missing_import(backend: str, client: str) -> str | None:
    """Why this interpreter cannot run them, with what to do; None where it can."""
    for name, package in imports(backend, client).items():
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed; install it with: pip install {package}"
    return None
