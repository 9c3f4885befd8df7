"""The CPU lane: N documents that are all there from the start, through a kernel, as fast as it goes."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from streamlanes.backends import Waits
from streamlanes.clients import NOTHING
from streamlanes.facts import Missing
from streamlanes.lanes import gc, memory, offloading
from streamlanes.lanes.answers import middle
from streamlanes.lanes.base import Asks, Chart, Kind, Lane, Panel, Usual
from streamlanes.lanes.figures import HIGHER, LOWER, NEITHER, SPIN_DRIFT, divided, figure, jobs
from streamlanes.lanes.offloading import fact
from streamlanes.metrics import Calls
from streamlanes.record import FlagName, Quality, Record
from streamlanes.walls import took_s
from streamlanes.workload import Ns, Schedule

if TYPE_CHECKING:
    from streamlanes.cells import Cell

MOST_SPREAD = 0.10
"""By what share the two looks at the parallel ceiling may differ before nothing is held against it."""


class Documents(Calls):
    """The documents of a timed pass: calls without a stream, with what their workers stamped."""

    @cached_property
    def done(self) -> int:
        """Documents that have their vector."""
        return int(self.ok.sum())

    @cached_property
    def per_s(self) -> float | Missing:
        """Documents that went well, a second."""
        return divided(self.done, took_s(self))

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


_TIME = (
    figure("time.wall_s", "s", LOWER, "first hand-over to the last end", took_s),
    figure(
        "time.startup_s", "s", LOWER, "from exec to ready: kernel, documents, workers, the first looks",
        lambda d: d.timed.startup_s,
    ),
    SPIN_DRIFT,
)  # fmt: skip

_WORK = (
    figure("work.unit", "", NEITHER, "what a unit of work is", lambda d: "document"),
    figure("work.done", "documents", NEITHER, "documents that have their vector", lambda d: d.done),
    figure("work.per_s", "documents/s", HIGHER, "those over the wall", lambda d: d.per_s),
    figure(
        "work.cpu_us_per_unit", "us", LOWER, "CPU of the whole tree from ready to drained, over those",
        _cpu_us_per_unit,
    ),
)  # fmt: skip

_CPU = (
    figure(
        "cpu.speedup", "x", HIGHER, "documents/s over those of one worker alone, see document_us",
        lambda d: d.speedup, Quality.DERIVED,
    ),
    figure(
        "cpu.ceiling", "x", NEITHER,
        "what a pure loop in a process on each usable CPU gets done, over what one does: mean of a look "
        "before the cell and one after it",
        lambda d: d.ceiling, Quality.SAMPLED,
    ),
    figure(
        "cpu.ceiling_spread", "", LOWER, "by what share of their mean the two looks differ",
        lambda d: d.ceiling_spread, Quality.SAMPLED,
    ),
    figure(
        "cpu.of_ceiling", "", HIGHER, "speed-up over ceiling; null where the ceiling spreads over 10 %",
        lambda d: d.of_ceiling, Quality.DERIVED,
    ),
    figure(
        "cpu.document_us", "us", LOWER,
        "a document of mean size, by one worker on otherwise idle CPUs: median of a sample before the run, "
        "the fastest of the samples until two agree within 10 %",
        lambda d: fact(d, "document_us"), Quality.SAMPLED,
    ),
    figure(
        "cpu.kernel_us", "us", LOWER, "a document in its worker, waiting for the GIL included",
        lambda d: d.mean_us(d.timed.own["kernel_end"] - d.timed.own["kernel_begin"]),
    ),
    figure(
        "cpu.kernel_cpu_us", "us", LOWER, "CPU of the worker's thread in that time",
        lambda d: d.mean_us(d.timed.own["kernel_cpu"]),
    ),
    *offloading.metrics("cpu"),
)  # fmt: skip


def _answer(records: Sequence[Record]) -> list[str]:
    """How fast each way is against one worker, and what is possible here, by kernel, backend and size."""
    lines = []
    for (backend, size, kernel), group in offloading.grouped(records, "kernel").items():
        said = []
        for way, some in offloading.ways(group).items():
            value, doubt = middle(some, "cpu.speedup")
            if value is not None:
                said.append(f"{way} {value:.2f}x{doubt}")
        ceiling, _ = middle(group, "cpu.ceiling")
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
    counted="documents",
    view=Documents,
    metrics=(
        *_TIME,
        *memory.of_tree(
            ready="the tree at ready, workers up and kernels loaded", plateau="once all documents are done"
        ),
        *gc.METRICS,
        *jobs("documents", "that have their vector", "that failed"),
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
    clients={"none": NOTHING},
    own_code="kernel",
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
