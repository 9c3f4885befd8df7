"""httpx without its command line, which it loads wherever click and rich are installed."""

from streamlanes.clients.hiding import hidden

with hidden("click"):
    import httpx

__all__ = ["httpx"]
