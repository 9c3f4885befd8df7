"""How a job waits for its tokens: a table of names, each with an asynchronous and a blocking form."""

from dataclasses import dataclass

from streamlanes.backends import Waits


@dataclass(frozen=True, kw_only=True)
class ClientInfo:
    """A client's two forms ("module:attribute") and what the parent must prepare for it.

    network: whether it needs a provider. fds_per_call: descriptors one call holds in this process.
    """

    forms: dict[Waits, str]
    network: bool
    fds_per_call: int


def _forms(module: str) -> dict[Waits, str]:
    """A file a form: a cell of threads must not carry asyncio in its memory."""
    return {
        Waits.ASYNC: f"streamlanes.clients.{module}:open_client",
        Waits.BLOCKING: f"streamlanes.clients.{module}_blocking:open_client",
    }


CALL = "call"
"""The client that calls a person's own function."""

CLIENTS: dict[str, ClientInfo] = {
    "timer": ClientInfo(forms=_forms("timer"), network=False, fds_per_call=0),
    "streams": ClientInfo(forms=_forms("streams"), network=True, fds_per_call=1),
    "floor": ClientInfo(forms=_forms("floor"), network=True, fds_per_call=1),
    CALL: ClientInfo(forms=_forms("call"), network=True, fds_per_call=1),  # people's own: one at the least
}
