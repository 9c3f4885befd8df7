"""No stream to wait for: for lanes whose jobs have none."""

from streamlanes.clients.base import Setting


def open_client(setting: Setting) -> None:
    """There is none."""
