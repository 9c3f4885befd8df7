"""What is read from outside a cell: stretches of time between readings, and the speed of the host. Pure."""

from dataclasses import dataclass

from streamlanes.facts import CpuReading, TimedPass


@dataclass(frozen=True)
class Window:
    """A stretch of time between two outside readings."""

    first: CpuReading
    last: CpuReading

    @property
    def span_s(self) -> float:
        """Its length."""
        return (self.last.at_ns - self.first.at_ns) / 1e9

    @property
    def cell_ns(self) -> int:
        """CPU of the cell's processes within."""
        return self.last.cell_total_ns - self.first.cell_total_ns

    @property
    def provider_ns(self) -> int:
        """CPU of the provider within."""
        return self.last.provider_ns - self.first.provider_ns

    @property
    def busiest_share(self) -> float:
        """The share of one core that the cell's busiest process used."""
        took = (ns - self.first.cell_ns.get(pid, 0) for pid, ns in self.last.cell_ns.items())
        return max(took, default=0) / (self.last.at_ns - self.first.at_ns)


def spin_drift(timed: TimedPass) -> float:
    """By what share the slower of the two calibration loops took longer than the other."""
    return max(timed.spin_ms) / min(timed.spin_ms) - 1
