"""Gaps between requests as letters: a block of a trace's gaps is one line of text."""

import math
import string
from collections.abc import Sequence

import numpy as np

from streamlanes.workload.draws import Floats

LEVELS = string.digits + string.ascii_uppercase + string.ascii_lowercase
"""Letters that stand for gaps: the first for none, each later one for a gap a quarter longer than the
one before, from a thousandth of the mean gap to 650 of it; so a letter is within an eighth of the truth."""

_LEAST, _RATIO = 0.001, 1.25


def level_of(gap: float) -> int:
    """The level nearest to a gap in units of the mean; 0 for gaps too short to tell from none."""
    if gap < _LEAST / math.sqrt(_RATIO):
        return 0
    return min(len(LEVELS) - 1, 1 + round(math.log(gap / _LEAST, _RATIO)))


def decode(blocks: Sequence[str]) -> Floats:
    """Blocks of letters as a table of gaps, a row a block, with mean 1."""
    levels = np.array([[LEVELS.index(letter) for letter in block] for block in blocks])
    gaps = np.where(levels == 0, 0.0, _LEAST * _RATIO ** (levels - 1.0))
    whole: Floats = gaps / gaps.mean()
    return whole
