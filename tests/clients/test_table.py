"""The table of clients against the libraries themselves: what it says of each is still so."""

import asyncio
import inspect

import aiohttp
import anthropic
import httpx
import openai
import pytest
import requests

from streamlanes.backends import Waits
from streamlanes.cell import load, versions
from streamlanes.clients import CALL, CLIENTS
from streamlanes.clients.base import Setting, Sharing
from streamlanes.provider.http2 import MOST_STREAMS

SETTING = Setting(None, (("127.0.0.1", 9), ("127.0.0.1", 10)), False, calls=7)
FORMS = [(name, waits) for name, info in CLIENTS.items() if name != CALL for waits in info.forms]


async def aiohttp_limit() -> int:
    connector = aiohttp.TCPConnector()
    await connector.close()
    return connector.limit


def default_pools() -> dict[str, int | None]:
    sdks = {"openai": openai, "anthropic": anthropic}
    return {
        "aiohttp": asyncio.run(aiohttp_limit()),
        "httpx": httpx._config.DEFAULT_LIMITS.max_connections,
        **{name: sdk._constants.DEFAULT_CONNECTION_LIMITS.max_connections for name, sdk in sdks.items()},
        # 10 that are kept, and as many more as are asked for
        "requests": requests.adapters.DEFAULT_POOLSIZE if requests.adapters.DEFAULT_POOLBLOCK else None,
    }


def test_the_default_pools_are_the_libraries_own():
    for name, pool in default_pools().items():
        assert CLIENTS[f"{name}-defaults"].pool == pool
        assert CLIENTS[name].pool is None
    assert CLIENTS["httpx-http2"].pool == MOST_STREAMS, "the provider allows no fewer"


def test_who_does_not_say_whether_the_mark_came():
    """What each says is tried in test_endings; people's own code gives text and nothing else."""
    assert {name for name, info in CLIENTS.items() if not info.says_mark} == {
        "openai",
        "openai-defaults",
        CALL,
    }


@pytest.mark.parametrize(("name", "waits"), FORMS)
def test_every_form_loads_and_is_a_client(name: str, waits: Waits):
    client = load(CLIENTS[name].forms[waits])(SETTING)
    assert inspect.iscoroutinefunction(client.stream)
    assert isinstance(client, Sharing) == bool(CLIENTS[name].needs)


def test_addresses_are_taken_in_turn_by_the_sdks_too():
    for name in ("openai", "anthropic"):
        client = load(CLIENTS[name].forms[Waits.ASYNC])(SETTING)

        async def places(name=name, client=client) -> list[str]:
            await client.open()
            resources = client._chats if name == "openai" else client._messages
            found = [str(each._client.base_url).removesuffix("/").removesuffix("/v1") for each in resources]
            await client.close()
            return found

        assert asyncio.run(places()) == ["http://127.0.0.1:9", "http://127.0.0.1:10"]


def test_versions_are_told_of_what_is_loaded():
    told = versions(["httpx", "nothing_of_this_name"])
    assert told == {"httpx": httpx.__version__}
