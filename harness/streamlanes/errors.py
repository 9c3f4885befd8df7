"""What ends a command with one line instead of a traceback."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake or a limit the user can act on: the text says what, where, and what to do.

    `exit_code` is the command's exit status (DESIGN.md, "Command line"): 2 unless said otherwise.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Terminated(BaseException):
    """SIGTERM, as an exception, so that every block on the way out cleans up."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that does not exist, with the nearest one that does."""
    names = sorted(map(str, known))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
    return UserError(f"unknown {kind} {name!r}; {hint}")
