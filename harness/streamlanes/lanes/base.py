"""What a lane declares: its metrics and its charts. Tables, statistics and charts read these."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamlanes.facts import Missing
from streamlanes.record import Quality, Record
from streamlanes.workload import TOGETHER


class Better(enum.StrEnum):
    """Which direction of a metric is an improvement."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


class Pool(enum.StrEnum):
    """How the repetitions of a cell become one figure."""

    MEDIAN = "median"
    MAX = "max"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One figure of a record: where it stands, what it means, and how it is computed.

    path: dotted, its first part a group of the record. of: the lane's view of the facts in, figure out.
    """

    path: str
    unit: str
    better: Better
    help: str
    of: Callable[[Any], float | int | str | Missing]
    pool: Pool = Pool.MEDIAN
    quality: Quality = Quality.MEASURED


class Kind(enum.StrEnum):
    """How a chart is drawn."""

    GROWTH = "growth"  # a line per backend over x; where a workload has one x only, dots per backend
    BARS = "bars"  # a bar per backend and size, parts stacked
    POOLS = "pools"  # measured beside predicted over the pool's width
    CAPACITY = "capacity"  # what knee searches found; its panel draws no path


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One plot of a chart.

    y: the paths drawn; several are stacked (BARS) or drawn beside each other (POOLS: measured,
    predicted). labels: one for each y. ideal: the value a perfect backend has, drawn as a line.
    scale: multiplies every figure (bytes to KiB).
    """

    y: tuple[str, ...]
    axis: str
    labels: tuple[str, ...] = ()
    ideal: float | None = None
    log: bool = True
    scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A picture of a run, with the question it answers as its title.

    x: path of the horizontal axis. arriving: path and name of the one for cells whose calls come and go
    (Poisson, traces): since they are never all in flight, their number says nothing of the load; None
    for the same as the others. backends: which are drawn at most, None for all (the reason for a
    choice stands in `note`). varied: the axis whose sweep is drawn; None for the main comparison, in
    which every backend runs as it comes (series.select). apart: workloads that this chart is for; where
    a run has others too, they are in no chart of the main comparison. beside: workloads drawn with them.
    """

    name: str
    title: str
    kind: Kind
    x: str
    x_axis: str
    panels: tuple[Panel, ...]
    note: str = ""
    backends: tuple[str, ...] | None = None
    varied: str | None = None
    arriving: tuple[str, str] | None = None
    apart: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def across(self, record: Record) -> tuple[str, str]:
        """Path and name of the horizontal axis on which this record stands."""
        together = record.cell.axes.get("arrival") in (None, *TOGETHER)
        return (self.x, self.x_axis) if together or self.arriving is None else self.arriving


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A family of measurements.

    job: "module:attribute" of the coroutine done N times. view: what the metrics' functions take,
    made once per cell from its facts. headline: paths of the run's one table. compared: those of them
    that decide who wins and enter ratios, most important first. headline_of: workload -> as many others
    for its table, where it asks another question.
    """

    name: str
    job: str
    unit: str
    view: Callable[[Any], Any]
    metrics: tuple[Metric, ...]
    charts: tuple[Chart, ...]
    headline: tuple[str, ...]
    compared: tuple[str, ...]
    headline_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
