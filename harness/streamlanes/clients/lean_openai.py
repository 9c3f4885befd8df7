"""The OpenAI SDK without what it loads wherever that is installed."""

from streamlanes.clients import sdk
from streamlanes.clients.hiding import hidden

with hidden(*sdk.OPTIONAL):
    import openai

    sdk.core(openai)

__all__ = ["openai"]
