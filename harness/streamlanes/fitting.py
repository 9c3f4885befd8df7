"""Whether a cell can be put together at all: the client has the form its backend needs, and the libraries
of both are installed, and those of the work that its lane does besides."""

import importlib.util
import platform
import sys
from collections.abc import Iterable, Mapping

from streamlanes.backends import BACKENDS, Waits
from streamlanes.cells import Cell
from streamlanes.interpreters import too_early
from streamlanes.lanes import lane
from streamlanes.lanes.base import Crew, Lane

EXTRA = "streamlanes[clients]"
"""What brings every client's library."""
_FORMS = {Waits.ASYNC: "asynchronous", Waits.BLOCKING: "blocking"}


def fits(own: Lane, backend: str, client: str) -> bool:
    """Whether the lane's client has the form that the backend needs; a name that does not exist is for others
    to refuse."""
    if backend not in BACKENDS or client not in own.clients:
        return True
    return BACKENDS[backend].waits in own.clients[client].forms


def misfit(cell: Cell) -> str | None:
    """Why its client does not run under its backend, with one under which it does; None where it does."""
    own = lane(cell.lane)
    if fits(own, cell.backend, cell.client):
        return None
    other = next(name for name in own.backends if fits(own, name, cell.client))
    return f"{cell.client} has no {_FORMS[BACKENDS[cell.backend].waits]} form; run it under {other}, say"


def imports(cell: Cell) -> Mapping[str, str]:
    """The imports that backend and client cannot do without -> what pip installs for them."""
    library = BACKENDS[cell.backend].needs
    return {
        **({library: library} if library else {}),
        **dict.fromkeys(cell.client_info.needs, f"'{EXTRA}'"),
    }


def missing_import(cell: Cell) -> str | None:
    """Why this interpreter cannot run them, with what to do; None where it can."""
    for name, package in imports(cell).items():
        if not _importable(name):
            return f"{name} is not installed; install it with: pip install {package}"
    return None


def crew_of(cell: Cell) -> Crew:
    """Who works in the cell beside its backend."""
    asks = lane(cell.lane).asks
    return asks.crew(cell) if asks else Crew()


def missing_crew(crew: Crew) -> str | None:
    """Why this interpreter cannot do a lane's own work, with what to do; None where it can."""
    if crew.since and sys.version_info < crew.since:
        return f"this is Python {platform.python_version()}, {too_early(crew.since)}"
    lacking = next((name for name in crew.needs if not _importable(name)), None)
    if lacking is None:
        return None
    return f"{lacking} is not installed; install it with: pip install 'streamlanes[{crew.extra}]'"


def lacking(cells: Iterable[Cell]) -> str | None:
    """One line on what is not installed and cells of a run need; None where nothing is missing. A cell that
    names an interpreter is left out: what that one lacks its record says."""
    wanted: dict[str, str] = {}
    for cell in cells:
        if cell.axes.python is None and misfit(cell) is None:
            crew = crew_of(cell)
            wanted |= {**imports(cell), **dict.fromkeys(crew.needs, f"'streamlanes[{crew.extra}]'")}
    names = [name for name in wanted if not _importable(name)]
    if not names:
        return None
    packages = " ".join(dict.fromkeys(wanted[name] for name in names))
    return f"{', '.join(names)}: cells that need it cannot run; install it with: pip install {packages}"


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # of the package that holds it
        return False
