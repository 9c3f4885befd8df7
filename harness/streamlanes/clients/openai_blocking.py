"""The OpenAI SDK, blocking: one HTTP client that all threads share."""

from streamlanes.clients import openai_chunks, sdk
from streamlanes.clients.base import Into, Setting, now_ns
from streamlanes.clients.lean_openai import openai
from streamlanes.clients.sending import CALL


class OpenAI:
    """The blocking form of the same."""

    def __init__(self, setting: Setting, *, defaults: bool = False) -> None:
        self._setting = setting
        self._defaults = defaults
        self._http: openai.DefaultHttpxClient
        self._chats: list[openai.resources.chat.Completions] = []

    async def open(self) -> None:
        """Make an SDK client for each address, all over one pool."""
        options = sdk.options(openai, self._setting, sdk.asked_blocking, defaults=self._defaults)
        self._http = openai.DefaultHttpxClient(**options)
        clients = [
            openai.OpenAI(
                base_url=f"{origin}/v1", api_key=sdk.KEY, max_retries=sdk.NO_RETRIES, http_client=self._http
            )
            for origin in sdk.origins(self._setting)
        ]
        self._chats = [client.chat.completions for client in clients]  # imports much, so not in a call

    async def stream(self, into: Into) -> None:
        """One chat completion, streamed."""
        CALL.set(into)
        chat = self._chats[into.call % len(self._chats)]
        try:
            with chat.create(**openai_chunks.request(into)) as chunks:
                for chunk in chunks:
                    openai_chunks.hand_over(chunk, into)
                into.closed(now_ns())
        except Exception as error:
            sdk.ended(error, openai, into)

    async def close(self) -> None:
        """Close the pool."""
        self._http.close()


def open_client(setting: Setting) -> OpenAI:
    """With a pool of the cell's size."""
    return OpenAI(setting)


def open_defaults(setting: Setting) -> OpenAI:
    """With the SDK's defaults: 1,000 connections at once, 600 s for each wait."""
    return OpenAI(setting, defaults=True)
