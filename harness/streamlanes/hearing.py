"""What a cell's process says, and how a cell ends that says something else."""

from collections.abc import Mapping
from typing import Any

from streamlanes.children import Child, Gone
from streamlanes.record import Status, StatusName


class CellEnded(Exception):
    """The cell came to no figures; `status` says why."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.reason)
        self.status = status


def hear(child: Child, timeout_s: float) -> dict[str, Any] | None:
    """The next word, None when none came in time. Raises CellEnded when the process is gone."""
    try:
        return child.hear(max(0.0, timeout_s))
    except Gone as gone:
        raise CellEnded(Status(StatusName.CRASHED, str(gone))) from None


def expect(word: Mapping[str, Any], expected: str) -> None:
    """Raise CellEnded unless the word is the expected one."""
    if word["word"] == expected:
        return
    reason = str(word.get("reason", f"said {word['word']!r}"))
    if word["word"] == "refused":
        raise CellEnded(Status(StatusName.UNSUPPORTED, reason, int(word["reached"])))
    raise CellEnded(Status(StatusName.CRASHED, reason))
