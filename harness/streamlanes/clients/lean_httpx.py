"""httpx without what it loads wherever that is installed: its command line and HTTP/2."""

from streamlanes.clients.hiding import hidden

with hidden("click", "h2"):
    import httpcore  # httpx itself would import it with the first client
    import httpx

__all__ = ["httpcore", "httpx"]
