"""What is known of the executions of a durable cell: its stamps and readings, as figures. Pure."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from streamlanes.distributions import Floats, distribution
from streamlanes.facts import CpuReading, Facts, Missing
from streamlanes.lanes.figures import divided
from streamlanes.metrics import Calls
from streamlanes.readings import Window
from streamlanes.samples import Outcome
from streamlanes.workload import Ns

COLUMNS = ("kept", "first_kept", "last_kept", "again", "twice", "left")
"""What the job stamps of an execution; see jobs.steps.LaneSteps. left: steps that the store holds at the
end."""
ROWS = {"acked_at": 1 << 19, "ack": 1 << 19}
"""The latest acknowledgements: as many as any store here gave in 12 s, and 8 MiB."""
PARTS = 5
"""Growth is the last of so many parts of the window held against the first."""
LEAST_S = 1.0
"""A pace of less says nothing."""
LEAST_ACKS = 20
"""In a part, or its median says little."""
UNTOLD = Missing("the cell was stopped before it could report")

Take = Callable[[CpuReading, CpuReading], float]
"""From the window's two readings to a figure."""


class Executions(Calls):
    """The executions of a timed pass. A step counts when it is acknowledged: kept, and its caller told."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        own = facts.timed.own
        self.kept, self.left = own["kept"], own["left"]
        self._first, self._last = own["first_kept"], own["last_kept"]
        self._again, self._twice = own["again"], own["twice"]

    @cached_property
    def done(self) -> int:
        """Steps of all executions."""
        return int(self.kept.sum())

    @cached_property
    def window(self) -> Window | Missing:
        """From when every execution has kept a step to when the first one has kept its last, shrunk to the
        readings within: in it all of them are under way."""
        if (self.kept == 0).any():
            return Missing("an execution kept no step")
        low, high = self._first.max(), self._last.min()
        inside = [reading for reading in self.timed.readings if low <= reading.at_ns <= high]
        if len(inside) < 2:
            return Missing("fewer than two readings while all executions were under way")
        return Window(inside[0], inside[-1])

    @cached_property
    def window_s(self) -> float | Missing:
        """Its length."""
        return self._of_window(lambda first, last: (last.at_ns - first.at_ns) / 1e9)

    @cached_property
    def _steps(self) -> float | Missing:
        """Steps kept within the window."""
        return self._of_window(lambda first, last: float(last.done - first.done))

    @cached_property
    def per_s(self) -> float | Missing:
        """Those a second."""
        return divided(self._steps, self.window_s)

    @cached_property
    def of_ideal(self) -> float | Missing:
        """Those over the pace of executions whose steps take their calls' own time and nothing else."""
        if "calls_made" not in self.timed.interpreter:
            return Missing("bare steps have no ideal pace")
        if not isinstance(self.window_s, Missing) and self.window_s < LEAST_S:
            return Missing(f"all executions were under way for less than {LEAST_S:g} s")
        return divided(self.per_s, float((1e9 / self.schedule.life_ns).sum()))

    @cached_property
    def cpu_us(self) -> float | Missing:
        """CPU of the cell's processes in the window, a step."""
        cpu_us = self._of_window(lambda first, last: (last.cell_total_ns - first.cell_total_ns) / 1000)
        return divided(cpu_us, self._steps)

    @cached_property
    def server_cpu_us(self) -> float | Missing:
        """CPU of the server's processes in the window, a step."""
        if not any(reading.server_ns for reading in self.timed.readings):
            return Missing("no server runs for this cell, or it is somebody's own")
        cpu_us = self._of_window(lambda first, last: (last.server_ns - first.server_ns) / 1000)
        return divided(cpu_us, self._steps)

    def _of_window(self, take: Take) -> float | Missing:
        window = self.window
        return window if isinstance(window, Missing) else take(window.first, window.last)

    @cached_property
    def _acks(self) -> tuple[Ns, Floats] | Missing:
        """When acknowledgements in the window came, ascending, and what each took, ms."""
        window = self.window
        if isinstance(window, Missing):
            return window
        at = self.timed.own["acked_at"]
        inside = np.flatnonzero((at >= window.first.at_ns) & (at <= window.last.at_ns))
        order = inside[np.argsort(at[inside], kind="stable")]
        return at[order], self.timed.own["ack"][order] / 1e6

    @cached_property
    def ack_ms(self) -> dict[str, float | Missing]:
        """What an acknowledgement takes: from the end of a step's work until its execution goes on."""
        found = self._acks
        return distribution(found if isinstance(found, Missing) else found[1], "no step was acknowledged")

    @cached_property
    def growth(self) -> float | Missing:
        """The median acknowledgement in the window's last part over that in its first."""
        found, window = self._acks, self.window
        if isinstance(found, Missing) or isinstance(window, Missing):
            return found if isinstance(found, Missing) else Missing("no window")
        if self.done > len(self.timed.own["ack"]):
            return Missing(f"only the latest {len(self.timed.own['ack']):,} acknowledgements are kept")
        at, took = found
        span = (window.last.at_ns - window.first.at_ns) / PARTS
        first, last = took[at < window.first.at_ns + span], took[at > window.last.at_ns - span]
        if min(len(first), len(last)) < LEAST_ACKS:
            return Missing(f"fewer than {LEAST_ACKS} acknowledgements in a fifth of the window")
        return float(np.median(last)) / float(np.median(first))

    @cached_property
    def lost(self) -> int | Missing:
        """Steps that were acknowledged and are not in the store."""
        if why := self._uncounted:
            return why
        return int((self.kept - self.left).clip(min=0).sum())

    @cached_property
    def duplicated(self) -> int | Missing:
        """Acknowledgements of a step that had one, and steps that the store holds beyond those acknowledged:
        of executions that ended well, for another's last step may be kept and not acknowledged."""
        if why := self._uncounted:
            return why
        beyond = (self.left - self.kept)[self.stamps.outcome == Outcome.OK].clip(min=0)
        return int(self._twice.sum()) + int(beyond.sum())

    @cached_property
    def redone(self) -> int:
        """Steps that were begun again."""
        return int(self._again.sum())

    @property
    def _uncounted(self) -> Missing | None:
        return None if self.facts.drained else Missing("the store was not counted: the cell was stopped")

    def said(self, name: str) -> int | float | Missing:
        """A count that the cell told of its store."""
        told = self.timed.interpreter
        if "durability" not in told:
            return UNTOLD
        found = told.get(name)
        if isinstance(found, int | float):
            return found
        return Missing("nothing is kept" if told["durability"] == "none" else "not counted here")

    def a_step(self, name: str) -> float | Missing:
        """Such a count over all steps."""
        return divided(self.said(name), self.done)

    @cached_property
    def fsync_us(self) -> float | Missing:
        """The mean of both looks at the disk."""
        if "durability" not in self.timed.interpreter:
            return UNTOLD
        looks = self.timed.interpreter.get("fsync_us")
        if isinstance(looks, list) and looks:
            return float(np.mean(looks))
        return Missing("the server is somebody's own, and its disk cannot be reached")
