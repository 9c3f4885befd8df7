"""The chart of what a client costs: a bar for each client, backend and transport, at one size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from streamlanes.costs import Cost
from streamlanes.lanes.base import Chart, Pool
from streamlanes.report import bars
from streamlanes.report.canvas import Sheet
from streamlanes.series import Line


@dataclass(frozen=True)
class _OfClient(Line):
    """A line that is named after its client."""

    client: str = ""

    @property
    def label(self) -> str:
        """The client first, then how it ran."""
        return self.client


def draw(chart: Chart, found: Sequence[Cost], pools: Mapping[str, Pool]) -> Sheet | str:
    """The chart, or why there is nothing to draw. Points of other sizes stand in the table."""
    if not found:
        return "no two libraries ran under the same backend"
    shown = [
        replace(point, line=_OfClient(cost.line.backend, client=f"{cost.client}: {cost.way}"))
        for cost in found
        if (point := cost.here) is not None
    ]
    return bars.draw(chart, shown, pools)
