"""A recording of token gaps: how long a real stream took from each token to the next. Pure: lines in."""

import math
from collections.abc import Iterable

import numpy as np

from streamlanes.errors import UserError
from streamlanes.workload.draws import Looped

MOST_MS = 3_600_000.0


def parse(lines: Iterable[str], source: str, name: str) -> Looped:
    """The gaps in these lines, in milliseconds, one a line; blank ones and those with `#` are passed over.

    source: the file, named in errors. Raises UserError, with the line, for what is no gap, and for a
    recording that is mostly without any.
    """
    gaps: list[float] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            gap = float(text)
        except ValueError:
            gap = math.nan
        if not 0 <= gap <= MOST_MS:
            short = text if len(text) <= 40 else text[:40] + "..."
            raise UserError(
                f"{source} line {number}: {short!r} is no gap; write milliseconds from 0 to {MOST_MS:,.0f}"
            )
        gaps.append(gap)
    if not gaps:
        raise UserError(f"{source} has no gap in it; write one a line, in milliseconds")
    found = Looped(name, np.array(gaps))
    if found.median == 0:
        raise UserError(f"{source}: half of the gaps are 0 ms: tokens came in chunks; set tokens_per_chunk")
    return found
