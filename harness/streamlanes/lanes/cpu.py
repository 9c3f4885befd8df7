"""The CPU lane: N documents that are all there from the start, through a kernel, as fast as it goes."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from streamlanes.backends import Waits
from streamlanes.clients import ClientInfo
from streamlanes.facts import Missing
from streamlanes.lanes import gc, memory, offloading
from streamlanes.lanes.base import Asks, Better, Chart, Kind, Lane, Metric, Panel, Pool, Usual
from streamlanes.lanes.offloading import Figure, divided, fact
from streamlanes.metrics import Calls
from streamlanes.readings import spin_drift
from streamlanes.record import FlagName, Quality, Record
from streamlanes.samples import Outcome
from streamlanes.workload import Ns, Schedule

if TYPE_CHECKING:
    from streamlanes.cells import Cell

LOWER, HIGHER, NEITHER = Better.LOWER, Better.HIGHER, Better.NEITHER
MOST_SPREAD = 0.10
"""By what share the two looks at the parallel ceiling may differ before nothing is held against it."""


class Documents(Calls):
    """The documents of a timed pass: calls without a stream, with what their workers stamped."""

    @cached_property
    def done(self) -> int:
        """Documents that have their vector."""
        return int(self.ok.sum())

    @cached_property
    def wall_s(self) -> float | Missing:
        """First hand-over to last end; documents that failed took their time too."""
        if not self.facts.drained:
            return Missing(f"over the budget of {self.facts.budget_s:.1f} s")
        return float(self.stamps.end.max() - self.stamps.begin.min()) / 1e9

    @cached_property
    def per_s(self) -> float | Missing:
        """Documents that went well, a second."""
        return divided(self.done, self.wall_s)

    @cached_property
    def speedup(self) -> float | Missing:
        """Documents a second over those of one worker alone."""
        return divided(self.per_s, divided(1e6, fact(self, "document_us")))

    @cached_property
    def _ceilings(self) -> list[float]:
        """What the pure loop on all CPUs got done over what it did on one, before and after."""
        return [said["together_per_s"] / said["alone_per_s"] for said in self.timed.beside]

    @cached_property
    def ceiling(self) -> float | Missing:
        """The mean of both looks."""
        return float(np.mean(self._ceilings)) if self._ceilings else Missing("the pure loop did not run")

    @cached_property
    def ceiling_spread(self) -> float | Missing:
        """By what share of their mean they differ."""
        return divided(float(np.ptp(self._ceilings)) if self._ceilings else 0.0, self.ceiling)

    @cached_property
    def of_ceiling(self) -> float | Missing:
        """The speed-up over the ceiling, where that is known well enough."""
        spread = self.ceiling_spread
        if not isinstance(spread, Missing) and spread > MOST_SPREAD:
            return Missing(f"inconclusive: the ceiling itself spreads over {MOST_SPREAD * 100:g} %")
        return divided(self.speedup, self.ceiling)

    def mean_us(self, column: Ns) -> float | Missing:
        """A column of ns, averaged over the documents that went well."""
        return float(column[self.ok].mean()) / 1000 if self.done else Missing("no document went well")


def _cpu_us_per_unit(documents: Documents) -> float | Missing:
    whole = documents.whole
    if isinstance(whole, Missing):
        return whole
    return divided(whole.cell_ns / 1000, documents.done)


def _figure(  # a figure's declaration, in a row
    path: str,
    unit: str,
    better: Better,
    text: str,
    of: Callable[[Documents], Figure],
    quality: Quality = Quality.MEASURED,
) -> Metric:
    return Metric(path=path, unit=unit, better=better, help=text, of=of, quality=quality)


def _count(name: str, text: str, of: Callable[[Documents], int], better: Better = NEITHER) -> Metric:
    return Metric(path=f"counts.{name}", unit="", better=better, help=text, pool=Pool.MAX, of=of)


def _ended(how: Outcome) -> Callable[[Documents], int]:
    return lambda documents: int((documents.stamps.outcome == how).sum())


_TIME = (
    _figure("time.wall_s", "s", LOWER, "first hand-over to the last end", lambda d: d.wall_s),
    _figure(
        "time.startup_s", "s", LOWER, "from exec to ready: kernel, documents, workers, the first looks",
        lambda d: d.timed.startup_s,
    ),
    _figure(
        "time.spin_drift", "", LOWER,
        "by what share a fixed loop took longer at one end of the cell than at the other",
        lambda d: spin_drift(d.timed), Quality.SAMPLED,
    ),
)  # fmt: skip

_COUNTS = (
    _count("calls", "documents asked for", lambda d: d.facts.calls),
    _count("started", "documents that began", lambda d: int((d.stamps.begin > 0).sum())),
    _count(
        "unaccounted_calls", "documents that never began", lambda d: int((d.stamps.begin == 0).sum()), LOWER
    ),
    _count("ok", "documents that have their vector", lambda d: d.done, HIGHER),
    _count("job_error", "documents that failed", _ended(Outcome.JOB_ERROR), LOWER),
    _count("cancelled", "documents whose job was cancelled", _ended(Outcome.CANCELLED), LOWER),
    _count(
        "unfinished",
        "documents that began and had not ended when the cell was over",
        lambda d: int(((d.stamps.begin > 0) & (d.stamps.outcome == 0)).sum()),
        LOWER,
    ),
)

_WORK = (
    _figure("work.unit", "", NEITHER, "what a unit of work is", lambda d: "document"),
    _figure("work.done", "documents", NEITHER, "documents that have their vector", lambda d: d.done),
    _figure("work.per_s", "documents/s", HIGHER, "those over the wall", lambda d: d.per_s),
    _figure(
        "work.cpu_us_per_unit", "us", LOWER, "CPU of the whole tree from ready to drained, over those",
        _cpu_us_per_unit,
    ),
)  # fmt: skip

_CPU = (
    _figure(
        "cpu.speedup", "x", HIGHER, "documents/s over those of one worker alone, see document_us",
        lambda d: d.speedup, Quality.DERIVED,
    ),
    _figure(
        "cpu.ceiling", "x", NEITHER,
        "what a pure loop in a process on each usable CPU gets done, over what one does: mean of a look "
        "before the cell and one after it",
        lambda d: d.ceiling, Quality.SAMPLED,
    ),
    _figure(
        "cpu.ceiling_spread", "", LOWER, "by what share of their mean the two looks differ",
        lambda d: d.ceiling_spread, Quality.SAMPLED,
    ),
    _figure(
        "cpu.of_ceiling", "", HIGHER, "speed-up over ceiling; null where the ceiling spreads over 10 %",
        lambda d: d.of_ceiling, Quality.DERIVED,
    ),
    _figure(
        "cpu.document_us", "us", LOWER,
        "a document of mean size, by one worker on otherwise idle CPUs: median of a sample, before the run",
        lambda d: fact(d, "document_us"), Quality.SAMPLED,
    ),
    _figure(
        "cpu.kernel_us", "us", LOWER, "a document in its worker, waiting for the GIL included",
        lambda d: d.mean_us(d.timed.own["kernel_end"] - d.timed.own["kernel_begin"]),
    ),
    _figure(
        "cpu.kernel_cpu_us", "us", LOWER, "CPU of the worker's thread in that time",
        lambda d: d.mean_us(d.timed.own["kernel_cpu"]),
    ),
    *offloading.metrics("cpu"),
)  # fmt: skip

_MEMORY = {
    "bare_bytes": "an interpreter that runs nothing, PSS",
    "fixed_bytes": "the tree at ready, workers up and kernels loaded, minus a bare interpreter, PSS",
    "plateau_pss_bytes": "anonymous and shared PSS of the tree once all documents are done",
    "file_pss_bytes": "file pages of the tree at that time, PSS",
    "rss_upper_bound_bytes": "summed RSS of the tree at that time",
    "page_table_bytes": "page tables of the tree at that time",
}


def _answer(records: Sequence[Record]) -> list[str]:
    """How fast each way is against one worker, and what is possible here, by kernel, backend and size."""
    lines = []
    for (backend, size, kernel), group in offloading.grouped(records, "kernel").items():
        said = []
        for way, some in offloading.ways(group).items():
            value, doubt = offloading.middle(some, "cpu.speedup")
            if value is not None:
                said.append(f"{way} {value:.2f}x{doubt}")
        ceiling, _ = offloading.middle(group, "cpu.ceiling")
        if said and ceiling is not None:
            said.append(f"of {ceiling:.2f}x possible here")
        if said:
            lines.append(f"CPU     {kernel} under {backend}, {size} documents: {', '.join(said)}")
    return lines


def _about_s(cell: "Cell") -> float:
    """The looks at the ceiling, the start of workers and sample, and the work as hash-embed has it."""
    return 2.5 + cell.calls * cell.load().tokens.median * 4e-6


def _setting(cell: "Cell", schedule: Schedule) -> dict[str, Any]:
    blocking = offloading.setting(cell)["waits"] == Waits.BLOCKING
    inline = offloading.offload(cell.axes) == "inline"
    return offloading.setting(cell) | ({"batch": 1} if blocking or inline else {})


LANE = Lane(
    name="cpu",
    job="streamlanes.jobs.cpu:CpuJob",
    unit="document",
    view=Documents,
    metrics=(
        *_TIME,
        *offloading.explained(memory.METRICS, "memory", _MEMORY),
        *gc.METRICS,
        *_COUNTS,
        *_WORK,
        *_CPU,
    ),
    charts=(
        Chart(
            name="throughput",
            title="Where should CPU work run?",
            kind=Kind.BARS,
            x="cell.calls",
            x_axis="documents",
            lines=("kernel", "offload", "workers", "start_method"),
            panels=(
                Panel(y=("cpu.speedup",), axis="times one worker alone", log=False),
                Panel(y=("work.cpu_us_per_unit",), axis="CPU per document, us", log=False),
                Panel(
                    y=("memory.plateau_pss_bytes",), axis="memory of the tree, MiB", log=False, scale=2**-20
                ),
            ),
            note="CPU is that of the whole tree, from ready to drained. What is possible here is measured "
            "beside each cell by a pure loop, and stands in the records as cpu.ceiling.",
        ),
    ),
    headline=(
        "work.per_s",
        "cpu.speedup",
        "cpu.of_ceiling",
        "work.cpu_us_per_unit",
        "memory.plateau_pss_bytes",
    ),
    compared=("work.per_s", "work.cpu_us_per_unit", "memory.plateau_pss_bytes"),
    usual=Usual(
        backends=("asyncio",),
        client="none",
        workload="documents",
        calls=2000,
        sweep={"offload": ("inline", "threads", "processes")},
    ),
    backends=offloading.BACKENDS_OF_ONE_PROCESS,
    clients={
        "none": ClientInfo(
            forms=dict.fromkeys(Waits, "streamlanes.clients.nothing:open_client"),
            network=False,
            fds_per_call=0,
        )
    },
    columns=offloading.COLUMNS,
    asks=Asks(
        axes=offloading.AXES,
        without=("arrival", "ramp_s", "ttft_ms", "gap_ms", "gaps", "rate_per_s", "time_scale", "trace"),
        idle=offloading.idle,
        resolved=lambda cell, schedule: offloading.resolved(cell),
        check=offloading.check,
        setting=_setting,
        crew=offloading.crew,
    ),
    holds=False,
    extra_s=120.0,
    about_s=_about_s,
    beside="streamlanes.cpu.ceiling",
    doubts=frozenset({FlagName.FAILED_CALLS, FlagName.NOISY_HOST, FlagName.CPU_THROTTLED}),
    answer=_answer,
)
