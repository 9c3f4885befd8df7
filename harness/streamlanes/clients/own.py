"""What both forms of client `call` share: a person's own function found, its words counted."""

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from streamlanes.clients.base import Into, Setting, now_ns

Function = Callable[[str, str], Any]
"""Takes a base URL and a prompt; gives text, or pieces of it one by one."""


def find(target: str) -> Function:
    """The function that "module:function" names. The module is looked for in the current directory
    first, as `python -m` does, then where Python looks anyway."""
    module, name = target.split(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    function: Function = getattr(importlib.import_module(module), name)
    return function


def opened(setting: Setting) -> Function:
    """The function of a cell, in a process that trusts the provider's certificate.

    The variables are set before the module is imported: some libraries read them then.
    """
    assert setting.call is not None, "a cell of client call names its function"
    if setting.tls_ca is not None:
        os.environ["SSL_CERT_FILE"] = os.environ["REQUESTS_CA_BUNDLE"] = setting.tls_ca
    return find(setting.call)


def base_url(setting: Setting, call: int) -> str:
    """Where the provider is for this call: scheme, host and port, without a path."""
    host, port = setting.address(call)
    return f"{'http' if setting.tls_ca is None else 'https'}://{host}:{port}"


def words(piece: object) -> int:
    """How many tokens a piece of text stands for: the simulated provider says a word a token.

    Raises TypeError for what is no text.
    """
    if not isinstance(piece, str):
        raise TypeError(f"the function gave {type(piece).__name__}, not text: yield or return str")
    return len(piece.split())


def took(piece: object, now_ns: int, into: Into) -> int:
    """Hand over a piece that came at now_ns; how many words it had. Raises TypeError for what is no text."""
    brought = words(piece)
    if brought:
        into.tokens(brought, now_ns)
    else:
        into.event(now_ns)
    return brought


def ended(setting: Setting, into: Into, count: int) -> None:
    """The function is over and gave `count` words: ok if that is all that the provider says in this call,
    else cut short, whoever cut it."""
    first = setting.schedule["first"]
    if count >= first[into.call + 1] - first[into.call]:
        into.finished(marked=False)
    into.closed(now_ns())
