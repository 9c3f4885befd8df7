"""The durable lane: N executions, each a row of super-steps that are kept, or not, as they go."""

from typing import TYPE_CHECKING

from streamlanes.clients import CLIENTS, NOTHING
from streamlanes.lanes.base import Chart, Kind, Lane, Panel, Usual
from streamlanes.lanes.durable_answer import answer
from streamlanes.lanes.durable_asks import ASKS, BACKENDS_OF_LANE, BARE, STORES, lasts_s, store
from streamlanes.lanes.durable_figures import METRICS
from streamlanes.lanes.executions import COLUMNS, ROWS, Executions
from streamlanes.record import FlagName

if TYPE_CHECKING:
    from streamlanes.cells import Cell


def _about_s(cell: "Cell") -> float:
    """Opening and closing the store, looks at its disk, a server up and down."""
    return 4.5 if store(cell) == "postgres" else 1.5


_LINES = ("store", "group_commit", "architecture", "retry")
_DISK = (("durable.fsync_us", "A sync in the store's folder takes {} us by itself."),)
"""What none of these figures means anything without."""

LANE = Lane(
    name="durable",
    job="streamlanes.jobs.durable:DurableJob",
    unit="step",
    view=Executions,
    metrics=METRICS,
    charts=(
        Chart(
            name="durability-costs",
            title="What does durability cost?",
            kind=Kind.BARS,
            x="cell.calls",
            x_axis="executions",
            lines=_LINES,
            told=_DISK,
            panels=(
                Panel(y=("work.per_s",), axis="steps/s"),
                Panel(y=("durable.ack_ms.p99",), axis="acknowledged within, p99, ms"),
                Panel(y=("work.cpu_us_per_unit",), axis="CPU per step, us", log=False),
            ),
            note="CPU is that of the cell alone; a PostgreSQL's stands in the records as "
            "durable.server_cpu_us_per_step.",
        ),
        Chart(
            name="sync-costs",
            title="What does a slow disk cost?",
            kind=Kind.GROWTH,
            varied="sync_ms",
            lines=_LINES,
            told=_DISK,
            x="cell.axes.sync_ms",
            x_axis="added to each sync, ms",
            panels=(
                Panel(y=("work.per_s",), axis="steps/s"),
                Panel(y=("durable.ack_ms.p99",), axis="acknowledged within, p99, ms"),
            ),
        ),
        Chart(
            name="executions",
            title="How many executions at once?",
            kind=Kind.GROWTH,
            lines=_LINES,
            told=_DISK,
            x="cell.calls",
            x_axis="executions",
            panels=(
                Panel(y=("work.per_s",), axis="steps/s"),
                Panel(y=("durable.ack_ms.p99",), axis="acknowledged within, p99, ms"),
                Panel(y=("durable.of_ideal",), axis="of the ideal pace", log=False, ideal=1.0),
                Panel(y=("work.cpu_us_per_unit",), axis="CPU per step, us", log=False),
            ),
        ),
    ),
    headline=(
        "work.per_s",
        "durable.ack_ms.p50",
        "durable.ack_ms.p99",
        "durable.fsync_us",
        "durable.syncs_per_step",
        "durable.written_per_useful",
        "work.cpu_us_per_unit",
    ),
    compared=("work.per_s", "durable.ack_ms.p99", "work.cpu_us_per_unit"),
    usual=Usual(backends=("asyncio",), client=BARE, workload="documents", calls=100, sweep={"store": STORES}),
    backends=BACKENDS_OF_LANE,
    clients={BARE: NOTHING, **CLIENTS},
    columns=COLUMNS,
    rows=ROWS,
    progress="kept",
    lasts_s=lambda cell: lasts_s(cell) or 0.0,
    place="streamlanes.store_place:store_place",
    asks=ASKS,
    holds=False,
    extra_s=120.0,
    about_s=_about_s,
    doubts=frozenset({FlagName.FAILED_CALLS, FlagName.NOISY_HOST, FlagName.CPU_THROTTLED}),
    answer=answer,
)
