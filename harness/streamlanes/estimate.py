"""How long cells will take: from their schedules and what starting and ending processes costs."""

from collections.abc import Iterable, Sequence

from streamlanes.backends import BACKENDS
from streamlanes.cells import Cell
from streamlanes.lanes import lane as lane_named
from streamlanes.plan import Plan
from streamlanes.record import Record
from streamlanes.workload import build, predicted_wall_s

PASS_S = 0.8
"""Provider and cell up and down again, readings, the record; what held calls take besides stands below."""
CALL_S = 0.00012
"""Of setting up and ending one call's descriptors and memory, outside the wall."""
HELD_S = 0.0006
"""Of probing and releasing one held call."""
DRAIN_S = 0.000025
"""Of one token of a held call after the release, when the provider sends all that are left at once."""
PYTHON_DRAIN_S = 0.0002
"""The same through a library that parses HTTP in Python."""
THREADS_TO_BUDGET = 6_000
"""Threads of one process from which a token for each is not had on time any more: such cells were
seen to run to their budget (2 cores, CPython 3.11 to 3.13)."""


def seconds(cell: Cell) -> float:
    """Both passes of a cell."""
    schedule = build(cell.load(), cell.calls)
    backend, in_flight = BACKENDS[cell.backend], cell.in_flight(schedule)
    if cell.width is not None:
        wall = predicted_wall_s(schedule.head(cell.admitted(schedule)), cell.width)
    elif (
        backend.threads_per_call and in_flight / cell.workers > THREADS_TO_BUDGET and cell.client_info.network
    ):
        wall = cell.budget(schedule)
    else:
        wall = schedule.ideal_wall_s
    lane = lane_named(cell.lane)
    took = PASS_S + max(wall, lane.lasts_s(cell)) + CALL_S * cell.calls + lane.about_s(cell)
    if cell.memory and lane.holds:
        held = schedule.head(in_flight)
        first = held.start_ns + held.offset_ns[held.first[:-1]]
        took += PASS_S + float(first.max()) / 1e9 + HELD_S * held.calls
        in_python = "h11" in cell.client_info.libraries
        took += (PYTHON_DRAIN_S if in_python else DRAIN_S) * held.tokens
    return took


def total_seconds(cells: Iterable[Cell]) -> float:
    """All cells one after the other."""
    return sum(seconds(cell) for cell in cells)


class Outlook:
    """What a run has before it, by its plan and the records so far; of a plan that decides on the way the
    most there can be. records: looked at anew each time, so it may grow."""

    def __init__(self, plan: Plan, records: Sequence[Record]) -> None:
        self._plan = plan
        self._records = records
        self._known: dict[str, float] = {}

    @property
    def done(self) -> int:
        """Cells that are measured."""
        return len(self._records)

    @property
    def left(self) -> int:
        """Cells that are not."""
        return len(self._plan.ahead(self._records))

    @property
    def left_s(self) -> float:
        """About how long those take."""
        return sum(map(self.seconds, self._plan.ahead(self._records)))

    def seconds(self, cell: Cell) -> float:
        """About how long one cell takes; reckoned once."""
        if cell.id not in self._known:
            self._known[cell.id] = seconds(cell)
        return self._known[cell.id]
