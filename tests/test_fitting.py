"""Whether client and backend fit each other, and what they need is installed."""

import importlib.util
import sys

import pytest

from streamlanes import fitting
from streamlanes.backends import BACKENDS
from streamlanes.cells import Axes, Cell
from streamlanes.clients import CLIENTS
from streamlanes.lanes import lane
from streamlanes.lanes.base import Crew


def cell(backend: str, client: str, **fields: object) -> Cell:
    return Cell(**{"lane": "io", "workload": "steady", "calls": 1, **fields}, backend=backend, client=client)


def test_a_client_without_the_form_a_backend_needs_is_told_where_it_runs():
    reason = fitting.misfit(cell("asyncio", "requests"))
    assert reason == "requests has no asynchronous form; run it under threads, say"
    reason = fitting.misfit(cell("threads", "aiohttp"))
    assert reason == "aiohttp has no blocking form; run it under asyncio, say"
    assert not fitting.fits(lane("io"), "asyncio", "requests")
    assert fitting.fits(lane("io"), "asyncio", "no client of this name")


def test_standard_library_clients_fit_every_backend():
    for backend in BACKENDS:
        for client in ("timer", "streams", "floor", "httpx", "openai"):
            assert fitting.misfit(cell(backend, client)) is None
        assert fitting.misfit(cell(backend, "none", lane="cpu")) is None


@pytest.mark.parametrize("client", [name for name, info in CLIENTS.items() if info.needs])
def test_a_missing_library_is_told_with_the_extra_that_brings_it(
    client: str, monkeypatch: pytest.MonkeyPatch
):
    here = importlib.util.find_spec
    lacks = CLIENTS[client].needs[-1]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == lacks else here(name))
    reason = fitting.missing_import(cell("uvloop", client))
    assert reason == f"{lacks} is not installed; install it with: pip install 'streamlanes[clients]'"


def test_what_is_installed_is_not_missing():
    assert fitting.missing_import(cell("uvloop", "aiohttp")) is None
    assert fitting.missing_import(cell("asyncio", "streams")) is None
    assert fitting.missing_crew(Crew()) is None
    assert fitting.missing_crew(Crew(needs=("json", "numpy"), since=sys.version_info[:2])) is None


def test_a_backends_library_is_told_by_its_own_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert fitting.missing_import(cell("uvloop", "streams")) == (
        "uvloop is not installed; install it with: pip install uvloop"
    )


def test_a_kernels_library_is_told_with_its_extra():
    crew = fitting.crew_of(cell("asyncio", "none", lane="cpu", axes=Axes(kernel="tokenize")))
    assert "tiktoken" in crew.needs
    assert fitting.missing_crew(Crew(needs=("json", "no_such.part_of_it"), extra="cpu")) == (
        "no_such.part_of_it is not installed; install it with: pip install 'streamlanes[cpu]'"
    )


def test_what_a_run_lacks_is_one_line(monkeypatch: pytest.MonkeyPatch):
    cells = [
        cell("uvloop", "aiohttp"),
        cell("threads", "requests"),
        cell("asyncio", "streams"),
        cell("asyncio", "none", lane="cpu", axes=Axes(kernel="tokenize")),
        cell("asyncio", "requests"),  # it would not run with its library either
        cell("asyncio", "openai", axes=Axes(python="cpython-3.13.0")),
    ]
    assert fitting.lacking(cells) is None
    here = importlib.util.find_spec
    absent = {"aiohttp", "requests", "tiktoken", "openai"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else here(name))
    assert fitting.lacking(cells) == (
        "aiohttp, requests, tiktoken: cells that need it cannot run; install it with: "
        "pip install 'streamlanes[clients]' 'streamlanes[cpu]'"
    )
    assert fitting.lacking(cells[2:3]) is None
