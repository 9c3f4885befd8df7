"""People's own blocking code: a plain function or a plain generator, called as it is.

Of a generator every piece is stamped when it is yielded. What a function returns is stamped at its
end, all of it.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from streamlanes.clients import own
from streamlanes.clients.base import Into, Setting, now_ns


class Call:
    """The blocking form."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._function = own.opened(setting)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as its setting: a function need not be one that can be pickled."""
        return (Call, (self._setting,))

    async def stream(self, into: Into) -> None:
        """One call of the function, which blocks."""
        setting = self._setting
        url = own.base_url(setting, into.call)
        given = self._function(url, into.prompt)
        count = _pieces(given, into) if isinstance(given, Iterator) else own.took(given, now_ns(), into)
        own.ended(setting, into, count)


def _pieces(pieces: Any, into: Into) -> int:
    """Stamp the pieces as they come; how many words they had. A generator that is left early is
    closed, so that it can close its response."""
    count = 0
    with contextlib.closing(pieces) if hasattr(pieces, "close") else contextlib.nullcontext():
        for piece in pieces:
            count += own.took(piece, now_ns(), into)
    return count


open_client = Call
