"""When a library writes a request: stamped from within it, by the hooks that it offers for that.

Whoever awaits a library sees one long wait: for a place in its pool, the connection, the request, the
answer. Without these stamps a call that waits for a place would look as if it were in flight.
"""

from contextvars import ContextVar

from streamlanes.clients.base import Into, now_ns

CALL: ContextVar[Into] = ContextVar("CALL")
"""The call of this task or thread, for hooks that are not told which request they are called for."""


def sending(into: Into) -> None:
    """The connection stands, new or kept, and the request is written next."""
    now = now_ns()
    into.stamp("connected", now)
    into.stamp("sent", now)
