"""What an act is given, and what it hands back: predictions beside measurements."""

import enum
from dataclasses import dataclass
from pathlib import Path

from streamlanes.children import Launcher

Value = int | float | str


class Compare(enum.StrEnum):
    """When a measurement is as predicted."""

    EXACTLY = "exactly"
    AT_LEAST = "at least"


@dataclass(frozen=True)
class Figure:
    """Something that was predicted from what an act was given, and then measured.

    measured: None where it was not obtained: that is never as predicted.
    """

    what: str
    expected: Value
    measured: Value | None
    compare: Compare = Compare.EXACTLY
    unit: str = ""

    @property
    def holds(self) -> bool:
        """Whether it was measured as predicted."""
        if self.measured is None:
            return False
        if self.compare is Compare.EXACTLY:
            return self.measured == self.expected
        assert not isinstance(self.measured, str)
        assert not isinstance(self.expected, str)
        return self.measured >= self.expected


@dataclass(frozen=True)
class Stage:
    """Where an act plays.

    folder: empty and the act's own. launcher: starts processes that end with this one. crash_at: number
    of the step or activity, from 1, in which a worker dies. calls: streaming calls of the act `lanes`.
    """

    folder: Path
    launcher: Launcher
    crash_at: int = 4
    calls: int = 500
