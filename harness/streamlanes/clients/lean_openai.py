"""The OpenAI SDK without aiohttp, which it loads as a second HTTP client where that is installed."""

from streamlanes.clients.hiding import hidden

with hidden("aiohttp", "click"):
    import openai

__all__ = ["openai"]
