"""Cheap collections: what a test leaves unclosed shall say so within that test."""

import gc
from collections.abc import Iterator

import pytest

from calling import FORMS
from streamlanes.cell import load
from streamlanes.clients import CLIENTS


@pytest.fixture(scope="package", autouse=True)
def libraries_apart() -> Iterator[None]:
    """The libraries are loaded and out of the collector's sight, so that each collection after a call has
    only that call to look at."""
    for client, waits in FORMS:
        load(CLIENTS[client].forms[waits])
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
