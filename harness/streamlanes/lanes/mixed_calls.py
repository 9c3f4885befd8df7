"""What is known of the calls of a mixed cell: streams, and what became of their texts, as figures. Pure."""

from functools import cached_property

import numpy as np

from streamlanes.distributions import Floats
from streamlanes.facts import Missing
from streamlanes.lanes.figures import divided
from streamlanes.metrics import Calls

ON_TIME_MS = 50.0
"""A call is on time if no token of it was later than this; the bound of the lane's answer too."""


class Mixed(Calls):
    """The calls of a timed pass, with what became of their texts."""

    @cached_property
    def window_ns(self) -> tuple[int, int] | Missing:
        """While texts were post-processed: from the first hand-over to the last result."""
        handed, back = self.timed.own["handed"], self.timed.own["back"]
        if not back.any():
            return Missing("no call came to its post-processing")
        return int(handed[handed > 0].min()), int(back.max())

    @cached_property
    def window_s(self) -> float | Missing:
        """Its length."""
        window = self.window_ns
        return window if isinstance(window, Missing) else (window[1] - window[0]) / 1e9

    @cached_property
    def _late_ms(self) -> Floats:
        """Every token's lateness without its call's start lag."""
        late: Floats = (self.stamps.received - self.due_ns(self.model_start_ns)) / 1e6
        return late

    @cached_property
    def during_ms(self) -> Floats | Missing:
        """Lateness, without start lag, of the tokens that were due in the window."""
        window, rows = self.window_ns, self.traced_tokens
        if isinstance(window, Missing):
            return window
        if isinstance(rows, Missing):
            return rows
        due = self.due_ns(self.model_start_ns)
        return self._late_ms[rows & (due >= window[0]) & (due <= window[1])]

    @cached_property
    def post_ms(self) -> Floats | Missing:
        """From a text's hand-over to its result, waiting included."""
        handed, back = self.timed.own["handed"], self.timed.own["back"]
        ended: Floats = (back - handed)[back > 0] / 1e6
        return ended

    @cached_property
    def done(self) -> int:
        """Documents that went through the kernel well: each text as often as a call's work asked."""
        each = self.timed.interpreter.get("documents_per_call", 0)
        well = (self.timed.own["back"] > 0) & (self.timed.own["fault"] == 0)
        return int(well.sum()) * int(str(each))

    @cached_property
    def work_ms(self) -> float | Missing:
        """CPU of one call's post-processing, the mean."""
        spent = self.timed.own["kernel_cpu"][self.timed.own["back"] > 0]
        return float(spent.mean()) / 1e6 if len(spent) else Missing("no call came to its post-processing")

    @cached_property
    def cores(self) -> float | Missing:
        """CPU of all post-processing over the window."""
        return divided(float(self.timed.own["kernel_cpu"].sum()) / 1e9, self.window_s)

    @cached_property
    def on_time(self) -> float | Missing:
        """The share of the calls that ended ok whose every token was in time."""
        traced = self.traced
        if isinstance(traced, Missing):
            return traced
        if not traced.any():
            return Missing("no call ended ok")
        late = np.where(self.stamps.received > 0, self._late_ms, np.inf)  # one that never came is not in time
        latest = np.maximum.reduceat(late, self.schedule.first[:-1])
        return float((latest[traced] <= ON_TIME_MS).mean())
