"""Bytes and what they say, without I/O. The dialects: a table of names, imported only when chosen."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlanes.wire.base import Dialect

DEFAULT = "openai"

DIALECTS = {
    "openai": "streamlanes.wire.openai:DIALECT",
    "anthropic": "streamlanes.wire.anthropic:DIALECT",
}


def dialect(name: str) -> "Dialect":
    """The dialect of this name, one of the table's."""
    module, attribute = DIALECTS[name].split(":")
    found: Dialect = getattr(import_module(module), attribute)
    return found
