"""Whether client and backend fit each other, and what they need is installed."""

import importlib.util

import pytest

from streamlanes import fitting
from streamlanes.backends import BACKENDS
from streamlanes.clients import CLIENTS


def test_a_client_without_the_form_a_backend_needs_is_told_where_it_runs():
    reason = fitting.misfit("asyncio", "requests")
    assert reason == "requests has no asynchronous form; run it under threads, say"
    reason = fitting.misfit("threads", "aiohttp")
    assert reason == "aiohttp has no blocking form; run it under asyncio, say"
    assert not fitting.fits("asyncio", "requests")
    assert fitting.fits("asyncio", "no client of this name")


def test_standard_library_clients_fit_every_backend():
    for backend in BACKENDS:
        for client in ("timer", "streams", "floor", "httpx", "openai"):
            assert fitting.misfit(backend, client) is None


@pytest.mark.parametrize("client", [name for name, info in CLIENTS.items() if info.needs])
def test_a_missing_library_is_told_with_the_extra_that_brings_it(
    client: str, monkeypatch: pytest.MonkeyPatch
):
    here = importlib.util.find_spec
    lacks = CLIENTS[client].needs[-1]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == lacks else here(name))
    reason = fitting.missing_import("uvloop", client)
    assert reason == f"{lacks} is not installed; install it with: pip install 'streamlanes[clients]'"


def test_what_is_installed_is_not_missing():
    assert fitting.missing_import("uvloop", "aiohttp") is None
    assert fitting.missing_import("asyncio", "streams") is None


def test_a_backends_library_is_told_by_its_own_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert fitting.missing_import("uvloop", "streams") == (
        "uvloop is not installed; install it with: pip install uvloop"
    )
