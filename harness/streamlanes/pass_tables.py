"""The shared tables of one pass: written by the cell and its provider, read by the parent."""

from collections.abc import Mapping, Sequence

import numpy as np

from streamlanes.facts import CallStamps, ProviderStamps
from streamlanes.mishaps import Mishaps
from streamlanes.samples import Table, call_columns, lane_columns, provider_columns, schedule_columns
from streamlanes.workload import Ns, Schedule


class Tables:
    """The three shared tables of a pass, and what went wrong in words. own: columns that a lane's job stamps
    besides. rows: others, of so many rows each."""

    def __init__(
        self, schedule: Schedule, own: Sequence[str] = (), rows: Mapping[str, int] | None = None
    ) -> None:
        size = (schedule.calls, schedule.tokens)
        self.schedule = Table.create("schedule", schedule_columns(*size))
        besides = (*lane_columns(own, schedule.calls), *(rows or {}).items())
        self.calls = Table.create("calls", (*call_columns(*size), *besides))
        self.provider = Table.create("provider", provider_columns(*size))
        self.mishaps = Mishaps.create()
        for name, values in (
            ("start", schedule.start_ns),
            ("first", schedule.first),
            ("offset", schedule.offset_ns),
        ):
            np.asarray(self.schedule[name])[:] = values

    def stamps(self) -> tuple[CallStamps, ProviderStamps, dict[str, Ns]]:
        """Copies of all columns, as they are now; the lane's own by name."""
        calls = {name: np.array(self.calls[name]) for name, _ in self.calls.columns}
        sent = {name: np.array(self.provider[name]) for name, _ in self.provider.columns}
        own = {name: calls.pop(name) for name in list(calls) if name not in CallStamps.__dataclass_fields__}
        return CallStamps(**calls), ProviderStamps(**sent), own

    def close(self) -> None:
        """Give the memory back."""
        for table in (self.schedule, self.calls, self.provider):
            table.close()
        self.mishaps.close()
