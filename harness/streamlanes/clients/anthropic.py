"""The Anthropic SDK, asynchronous: one HTTP client a loop."""

from typing import TYPE_CHECKING

from streamlanes.clients import httpx_like, sdk
from streamlanes.clients.base import Into, Setting, now_ns
from streamlanes.clients.hiding import hidden
from streamlanes.clients.sending import CALL

with hidden(*sdk.OPTIONAL):
    import anthropic

    sdk.core(anthropic)

if TYPE_CHECKING:
    from anthropic.types import RawMessageStreamEvent

MOST_TOKENS = 1 << 20
"""The request must name a limit; the provider's schedule says how many really come."""


class Anthropic:
    """A pool of as many connections as there are calls, no time limit, no retries.

    defaults: the SDK's own limits of pool and time instead.
    """

    def __init__(self, setting: Setting, *, defaults: bool = False) -> None:
        self._setting = setting
        self._defaults = defaults
        self._http: anthropic.DefaultAsyncHttpxClient
        self._messages: list[anthropic.resources.AsyncMessages] = []

    async def open(self) -> None:
        """Make an SDK client for each address, all over one pool."""
        options = sdk.options(anthropic, self._setting, sdk.asked, defaults=self._defaults)
        self._http = anthropic.DefaultAsyncHttpxClient(**options)
        clients = [
            anthropic.AsyncAnthropic(
                base_url=origin, api_key=sdk.KEY, max_retries=sdk.NO_RETRIES, http_client=self._http
            )
            for origin in sdk.origins(self._setting)
        ]
        self._messages = [client.messages for client in clients]
        await httpx_like.load_the_rest()

    async def stream(self, into: Into) -> None:
        """One message, streamed."""
        CALL.set(into)
        messages = self._messages[into.call % len(self._messages)]
        try:
            async with await messages.create(
                model="sim",
                max_tokens=MOST_TOKENS,
                messages=[{"role": "user", "content": into.prompt}],
                stream=True,
            ) as events:
                async for event in events:
                    _hand_over(event, into)
                into.closed(now_ns())
        except Exception as error:
            sdk.ended(error, anthropic, into)

    async def close(self) -> None:
        """Close the pool."""
        await self._http.aclose()


def _hand_over(event: "RawMessageStreamEvent", into: Into) -> None:
    """Tell the receiver what an event brought."""
    now = now_ns()
    into.event(now)
    if event.type == "content_block_delta":
        delta = event.delta
        if delta.type == "text_delta" and delta.text:
            into.tokens(1, now)
        elif delta.type == "thinking_delta" and delta.thinking:
            into.tokens(1, now, visible=False)
    elif event.type == "message_delta":
        into.used(event.usage.output_tokens)
        if event.delta.stop_reason:
            into.finished(marked=False)
    elif event.type == "message_stop":
        into.finished()


def open_client(setting: Setting) -> Anthropic:
    """With a pool of the cell's size."""
    return Anthropic(setting)


def open_defaults(setting: Setting) -> Anthropic:
    """With the SDK's defaults: 1,000 connections at once, 600 s for each wait."""
    return Anthropic(setting, defaults=True)
