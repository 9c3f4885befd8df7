"""What a durable cell is asked, and what its job is told."""

from typing import TYPE_CHECKING, Any

from streamlanes.backends import BACKENDS
from streamlanes.durable.architectures import ARCHITECTURES, CHECKPOINTS
from streamlanes.errors import UserError, unknown
from streamlanes.lanes.base import Asks, Crew
from streamlanes.workload import AXES as OF_WORKLOADS
from streamlanes.workload import Schedule

if TYPE_CHECKING:
    from streamlanes.cells import Axes, Cell

STORES = ("none", "sqlite-normal", "sqlite-full", "postgres")
"""As `durability` names them (durable.database.Database)."""
STORE = "sqlite-full"
RUN_S = 12.0
"""Long enough for 10 s in which all executions are under way."""
STATE_BYTES = 1024
RETRY = "none"
BARE = "none"
"""The client of steps that do nothing."""
BACKENDS_OF_LANE = {name: BACKENDS[name] for name in ("asyncio", "uvloop", "threads")}


def store(cell: "Cell") -> str:
    """Where its steps are kept: "none", "sqlite", "postgres"."""
    return (cell.axes.store or STORE).partition("-")[0]


def lasts_s(cell: "Cell") -> float | None:
    """After how long executions end; None where their number of steps alone says so."""
    if cell.axes.run_s is not None:
        return float(cell.axes.run_s)
    return RUN_S if cell.axes.steps is None else None


def _idle(axes: "Axes") -> tuple[str, ...]:
    """What says nothing beside the rest, and what is so anyway."""
    if axes.store == "none":
        return ("group_commit", "sync_ms", "architecture")
    usual = {
        "group_commit": axes.group_commit is True,
        "sync_ms": axes.sync_ms == 0,
        "architecture": axes.architecture == CHECKPOINTS,
        "retry": axes.retry == RETRY,
    }
    return tuple(axis for axis, so in usual.items() if so)


def _resolved(cell: "Cell", schedule: Schedule) -> dict[str, Any]:
    axes, kept = cell.axes, store(cell) != "none"
    unused = [axis for axis in OF_WORKLOADS if axis != "seed"] if cell.client == BARE else []
    return dict.fromkeys(unused) | {
        "store": axes.store or STORE,
        "group_commit": (axes.group_commit is not False) if kept else None,
        "sync_ms": (axes.sync_ms or 0) if kept else None,
        "architecture": (axes.architecture or CHECKPOINTS) if kept else None,
        "steps": axes.steps,
        "run_s": lasts_s(cell),
        "state_bytes": axes.state_bytes or STATE_BYTES,
        "retry": None if cell.client == BARE else axes.retry or RETRY,
    }


def _check(cell: "Cell") -> None:
    """Raise UserError for what cannot be meant."""
    axes, waits = cell.axes, BACKENDS[cell.backend].waits
    if cell.backend not in BACKENDS_OF_LANE:
        *most, last = BACKENDS_OF_LANE
        raise UserError(
            f"lane durable takes {', '.join(most)} or {last}, not {cell.backend}; name one with -b"
        )
    if axes.store is not None and axes.store not in STORES:
        raise unknown("store", axes.store, STORES)
    name = axes.architecture or CHECKPOINTS
    if name not in ARCHITECTURES:
        raise unknown("architecture", name, ARCHITECTURES)
    info = ARCHITECTURES[name]
    if store(cell) not in info.stores:
        fits = next(each for each in STORES if each.partition("-")[0] in info.stores)
        raise UserError(
            f"architecture {name} has no store {axes.store or STORE}; it is for {', '.join(info.stores)}: "
            f"add --set store={fits}"
        )
    if waits not in info.waits:
        fits = next(each for each, one in BACKENDS_OF_LANE.items() if one.waits in info.waits)
        raise UserError(f"architecture {name} does not run under {cell.backend}; run it under {fits}, say")
    if cell.client == BARE:
        for axis in axes.set_values():
            if (axis in OF_WORKLOADS and axis != "seed") or axis == "retry":
                raise UserError(
                    f"{axis} means nothing to steps that do nothing; name a client (-c) or leave it out"
                )


def _setting(cell: "Cell", schedule: Schedule) -> dict[str, Any]:
    axes = cell.axes
    return {
        "store": store(cell),
        "synchronous": (axes.store or STORE).partition("-")[2] or "full",
        "grouped": axes.group_commit is not False,
        "sync_ms": float(axes.sync_ms or 0),
        "architecture": axes.architecture or CHECKPOINTS,
        "steps": axes.steps,
        "run_s": lasts_s(cell),
        "state_bytes": axes.state_bytes or STATE_BYTES,
        "retry": axes.retry or RETRY,
        "waits": BACKENDS[cell.backend].waits.value,
        "bare": cell.client == BARE,
    }


def _crew(cell: "Cell") -> Crew:
    """The store's own threads (writer, log, heartbeat), and the libraries of store and architecture."""
    if store(cell) == "none":
        return Crew()
    driver = ("psycopg", "psycopg_pool") if store(cell) == "postgres" else ()
    needs = (*driver, *ARCHITECTURES[cell.axes.architecture or CHECKPOINTS].needs)
    return Crew(threads=3, needs=needs, extra="durable")


ASKS = Asks(
    axes=("store", "group_commit", "sync_ms", "architecture", "steps", "run_s", "state_bytes", "retry"),
    idle=_idle,
    resolved=_resolved,
    check=_check,
    setting=_setting,
    crew=_crew,
)
