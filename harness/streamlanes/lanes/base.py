"""What a lane declares: its metrics and its charts. Tables, statistics and charts read these."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from streamlanes.backends import BACKENDS, BackendInfo
from streamlanes.clients import CLIENTS, ClientInfo
from streamlanes.facts import Missing
from streamlanes.record import FlagName, Quality, Record
from streamlanes.workload import TOGETHER, Schedule

if TYPE_CHECKING:
    from streamlanes.cells import Axes, Cell


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
    COSTS = "costs"  # clients side by side at one size, a bar each


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
    lines: axes that may be swept besides the varied one, and then make lines of their own. told: paths of
    figures that stand under it, each with a sentence for its median and range over all that is drawn.
    growing: whether only what was measured at several sizes is drawn, where anything was (another chart has
    the rest).
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
    lines: tuple[str, ...] = ()
    arriving: tuple[str, str] | None = None
    apart: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    told: tuple[tuple[str, str], ...] = ()
    growing: bool = False

    def across(self, record: Record) -> tuple[str, str]:
        """Path and name of the horizontal axis on which this record stands."""
        together = record.cell.axes.get("arrival") in (None, *TOGETHER)
        return (self.x, self.x_axis) if together or self.arriving is None else self.arriving


@dataclass(frozen=True, kw_only=True)
class Usual:
    """What a matrix from the command line has where it names nothing. backends, client: empty for those
    of the profile. sweep: axis -> values. instead: axis -> the one of those that it takes the place of."""

    backends: tuple[str, ...] = ()
    client: str = ""
    workload: str
    calls: int
    sweep: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Crew:
    """Who works in a cell beside what its backend starts: threads, processes, and the modules without
    which they cannot, with the extra of this project that brings those. since: the first Python that
    has such workers."""

    threads: int = 0
    processes: int = 0
    needs: tuple[str, ...] = ()
    extra: str | None = None
    since: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Asks:
    """What a lane takes of a cell beyond the axes that all share. Pure.

    axes: the axes it has, beside the workload's, the backend's and the interpreter's. without: of those
    the ones that mean nothing to it. idle: the ones that mean nothing beside what else was set, so that
    equal cells are equal. resolved: the axes with the values that are meant to run. check: raises
    UserError for what cannot be meant. setting: what its job is told, as JSON. crew: who works besides.
    """

    axes: tuple[str, ...]
    without: tuple[str, ...] = ()
    idle: "Callable[[Axes], tuple[str, ...]]"
    resolved: "Callable[[Cell, Schedule], dict[str, Any]]"
    check: "Callable[[Cell], None]"
    setting: "Callable[[Cell, Schedule], dict[str, Any]]"
    crew: "Callable[[Cell], Crew]"


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a pass has beside its cell and its provider. told: what is added to the job's setting. server:
    the first process of a server that runs for this cell alone."""

    told: Mapping[str, Any] = field(default_factory=dict)
    server: int | None = None


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A family of measurements.

    job: "module:attribute" of the coroutine done N times. counted: what those N are. view: what the metrics'
    functions take, made once per cell from its facts. headline: paths of the run's one table. compared:
    those of them that decide who wins and enter ratios, most important first. headline_of: workload -> as
    many others for its table, where it asks another question. usual: its cells where nobody names any.
    backends: those that its cells may have. clients: how its jobs may wait. own_code: the axis that takes
    people's own functions, in a lane without a client that does. columns: what its job stamps of a call
    beside what every cell does. asks: its own axes, None for a lane without. holds: whether calls can be held
    in flight, and so have a memory pass; else the tree is read once all jobs have ended. extra_s: what a cell
    may take beyond twice its ideal wall. about_s: what it will take beyond its schedule, for the estimate.
    beside: a module that prints one JSON object, run with the number of usable CPUs before and after each
    timed pass. doubts: the flags that mean something to it, None for all. answer: what its records show, in
    place of who wins. rows: columns that its job stamps and that are of so many rows whatever the calls.
    progress: the column of a call whose sum is read beside the CPU clocks. lasts_s: how long its jobs go on,
    where that is not the schedule's to say. place: "module:attribute" of what a pass has beside its cell, a
    context manager of a Place made from the cell; it raises UserError where it cannot be had. measured_by:
    "module:attribute" of a function from cell to view, for a lane whose cells are no jobs under a backend.
    """

    name: str
    job: str
    unit: str
    counted: str = "calls"
    view: Callable[[Any], Any]
    metrics: tuple[Metric, ...]
    charts: tuple[Chart, ...]
    headline: tuple[str, ...]
    compared: tuple[str, ...]
    headline_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    usual: Usual = Usual(workload="steady", calls=500)
    backends: Mapping[str, BackendInfo] = field(default_factory=lambda: BACKENDS)
    clients: Mapping[str, ClientInfo] = field(default_factory=lambda: CLIENTS)
    own_code: str | None = None
    columns: tuple[str, ...] = ()
    asks: Asks | None = None
    holds: bool = True
    extra_s: float = 5.0
    about_s: "Callable[[Cell], float]" = lambda cell: 0.0
    beside: str | None = None
    doubts: frozenset[FlagName] | None = None
    answer: Callable[[Sequence[Record]], list[str]] | None = None
    rows: Mapping[str, int] = field(default_factory=dict)
    progress: str | None = None
    lasts_s: "Callable[[Cell], float]" = lambda cell: 0.0
    place: str | None = None
    measured_by: str | None = None

    @property
    def first(self) -> Metric:
        """The first of the headline."""
        return next(metric for metric in self.metrics if metric.path == self.headline[0])
