"""The same streaming calls by an event loop, by a thread each, and by a pool of 64 threads."""

import contextlib
import math
from collections.abc import Sequence

from streamlanes import conduct
from streamlanes.cells import Axes, Cell
from streamlanes.demo.figures import Compare, Figure, Stage
from streamlanes.lanes import lane
from streamlanes.workload import build

WIDTH = 64
EARLY = 0.01
"""Share by which timers may be early."""


def act(stage: Stage) -> Sequence[Figure]:
    """Three cells of this harness: all calls at once, about half a second each. A pool takes them in
    waves, so its wall is at least as many calls long; the others have all of them in flight together."""
    figures = []
    here = conduct.Here(lane("io"), conduct.this_machine())
    with contextlib.closing(here.bench()) as bench:
        for backend, says, width in (
            ("asyncio", "asyncio", None),
            ("threads", "a thread each", None),
            ("thread-pool", f"a pool of {WIDTH} threads", WIDTH),
        ):
            cell = _cell(backend, stage.calls, width)
            record, _ = here.examine(bench, cell)
            at_once = min(width or stage.calls, stage.calls)
            least_s = math.ceil(stage.calls / at_once) * _call_s(cell)
            figures += [
                Figure(f"{says}: calls that ended well", stage.calls, record.counts.get("ok")),
                Figure(f"{says}: most calls at once", at_once, record.counts.get("peak_in_flight")),
                Figure(
                    f"{says}: wall of {stage.calls} calls",
                    round(least_s * (1 - EARLY), 2),
                    record.time.get("wall_s"),
                    Compare.AT_LEAST,
                    "s",
                ),
            ]
    return figures


def _cell(backend: str, calls: int, width: int | None) -> Cell:
    return Cell(
        lane="io",
        backend=backend,
        client="timer",
        workload="lesson",
        calls=calls,
        axes=Axes(width=width),
        memory=False,
    )


def _call_s(cell: Cell) -> float:
    """How long the shortest call lasts, its last token due."""
    schedule = build(cell.load(), cell.calls)
    return float(schedule.offset_ns[schedule.first[1:] - 1].min()) / 1e9
