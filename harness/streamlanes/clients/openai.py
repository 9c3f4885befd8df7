"""The OpenAI SDK, asynchronous: one HTTP client a loop."""

from streamlanes.clients import httpx_like, openai_chunks, sdk
from streamlanes.clients.base import Into, Setting, now_ns
from streamlanes.clients.lean_openai import openai
from streamlanes.clients.sending import CALL


class OpenAI:
    """A pool of as many connections as there are calls, no time limit, no retries.

    defaults: the SDK's own limits of pool and time instead.
    """

    def __init__(self, setting: Setting, *, defaults: bool = False) -> None:
        self._setting = setting
        self._defaults = defaults
        self._http: openai.DefaultAsyncHttpxClient
        self._chats: list[openai.resources.chat.AsyncCompletions] = []

    async def open(self) -> None:
        """Make an SDK client for each address, all over one pool."""
        options = sdk.options(openai, self._setting, sdk.asked, defaults=self._defaults)
        self._http = openai.DefaultAsyncHttpxClient(**options)
        clients = [
            openai.AsyncOpenAI(
                base_url=f"{origin}/v1", api_key=sdk.KEY, max_retries=sdk.NO_RETRIES, http_client=self._http
            )
            for origin in sdk.origins(self._setting)
        ]
        self._chats = [client.chat.completions for client in clients]  # imports much, so not in a call
        await httpx_like.load_the_rest()

    async def stream(self, into: Into) -> None:
        """One chat completion, streamed."""
        CALL.set(into)
        chat = self._chats[into.call % len(self._chats)]
        try:
            async with await chat.create(**openai_chunks.request(into)) as chunks:
                async for chunk in chunks:
                    openai_chunks.hand_over(chunk, into)
                into.closed(now_ns())
        except Exception as error:
            sdk.ended(error, openai, into)

    async def close(self) -> None:
        """Close the pool."""
        await self._http.aclose()


def open_client(setting: Setting) -> OpenAI:
    """With a pool of the cell's size."""
    return OpenAI(setting)


def open_defaults(setting: Setting) -> OpenAI:
    """With the SDK's defaults: 1,000 connections at once, 600 s for each wait."""
    return OpenAI(setting, defaults=True)
