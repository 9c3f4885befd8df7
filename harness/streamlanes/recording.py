"""From facts to a record: the lane's metrics evaluated, every null with its reason."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from streamlanes.cells import Cell
from streamlanes.facts import Facts, Missing
from streamlanes.flags import flags
from streamlanes.interpreters import without_folders
from streamlanes.lanes.base import Lane
from streamlanes.record import CellInfo, Error, Quality, Record, Status, StatusName
from streamlanes.samples import Outcome
from streamlanes.workload import build

LATE_ACCEPT_NS = 50_000_000
"""A connection the provider took this long after the caller had it waited in its accept queue."""


def record(cell: Cell, lane: Lane, machine: Mapping[str, Any], facts: Facts) -> Record:
    """The record of a cell that ran to its end or to its budget."""
    view = lane.view(facts)
    _check_accounts(facts)
    groups, missing, quality = _figures(lane, view)
    groups["provider"] = provider(facts)
    return Record(
        cell=info(cell, facts.timed.interpreter),
        machine=dict(machine),
        status=status(facts),
        flags=[flag for flag in flags(facts, view) if lane.doubts is None or flag.name in lane.doubts],
        interpreter=dict(facts.timed.interpreter),
        errors=errors(facts),
        missing=missing,
        quality=quality,
        **_grouped(groups),
    )


def record_of(cell: Cell, lane: Lane, machine: Mapping[str, Any], view: Any) -> Record:
    """The record of a cell that was no jobs under a backend (Lane.measured_by), from its view."""
    groups, missing, quality = _figures(lane, view)
    return Record(
        cell=info(cell, {}),
        machine=dict(machine),
        status=Status(StatusName.OK),
        missing=missing,
        quality=quality,
        **_grouped(groups),
    )


def _figures(lane: Lane, view: Any) -> tuple[dict[str, dict[str, Any]], dict[str, str], dict[str, Quality]]:
    """Every metric of the lane in its group, the reasons of those that are null, how others were obtained."""
    groups: dict[str, dict[str, Any]] = {}
    missing: dict[str, str] = {}
    quality: dict[str, Quality] = {}
    for metric in lane.metrics:
        figure = metric.of(view)
        if isinstance(figure, Missing):
            missing[metric.path] = figure.reason
            _put(groups, metric.path, None)
            continue
        if metric.quality is not Quality.MEASURED:
            quality[metric.path] = metric.quality
        _put(groups, metric.path, figure)
    return groups, missing, quality


def _check_accounts(facts: Facts) -> None:
    """Every call that began has one outcome or none yet, and no other call has one."""
    stamps = facts.timed.calls
    assert not ((stamps.begin == 0) & (stamps.outcome > 0)).any(), "a call ended that never began"
    assert set(np.unique(stamps.outcome)) <= {0, *Outcome}, "an outcome that does not exist"


def failed(cell: Cell, lane: Lane, machine: Mapping[str, Any], status: Status) -> Record:
    """The record of a cell without figures: unsupported, crashed or skipped."""
    groups: dict[str, dict[str, Any]] = {}
    why = f"{status.name.value}: {status.reason}"
    for metric in lane.metrics:
        _put(groups, metric.path, None)
    missing = {metric.path: why for metric in lane.metrics}
    return Record(
        cell=info(cell, {}), machine=dict(machine), status=status, missing=missing, **_grouped(groups)
    )


def status(facts: Facts) -> Status:
    """ok, or over budget with how far it came."""
    admitted = facts.timed.schedule.calls
    if not facts.drained:
        done = int((facts.timed.calls.end > 0).sum())
        tokens = int((facts.timed.calls.received > 0).sum())
        share = tokens / facts.timed.schedule.tokens
        return Status(
            StatusName.OVER_BUDGET,
            f"stopped after {facts.budget_s:.1f} s: {share:.0%} of the tokens, "
            f"{done:,} of {admitted:,} calls",
        )
    if admitted < facts.calls:
        return Status(
            StatusName.OVER_BUDGET,
            f"a pool of {facts.width} admits {admitted:,} of {facts.calls:,} calls "
            f"within {facts.budget_s:.1f} s",
        )
    return Status(StatusName.OK)


def info(cell: Cell, interpreter: Mapping[str, Any]) -> CellInfo:
    """What was measured, with the values that really ran."""
    load = cell.load()
    axes = cell.resolved_axes(load, build(load, cell.calls))
    for axis in ("start_method", "stack_kib", "switch_ms", "batch"):
        if interpreter.get(axis) is not None:
            axes[axis] = interpreter[axis]
    return CellInfo(
        id=cell.id,
        lane=cell.lane,
        backend=cell.backend,
        client=cell.client,
        call=cell.call,
        workload=cell.workload,
        calls=cell.calls,
        repetition=cell.repetition,
        axes=axes,
        asked=msgspec.to_builtins(cell.asked),
        provider=cell.provider.set_values() if cell.provider else {},
        knee_bound_ms=cell.knee_bound_ms,
    )


def errors(facts: Facts) -> dict[str, Error]:
    """What went wrong in the cell, in words; no folder of this machine is told."""
    return {
        kind: Error(mishap.count, without_folders(mishap.message))
        for kind, mishap in facts.timed.mishaps.items()
    }


def provider(facts: Facts) -> dict[str, Any]:
    """What the provider said of itself, its processes together."""
    said = facts.timed.provider_stats
    if not said:
        return {}
    late = [each["lateness_ms"] for each in said]
    stamps = facts.timed.provider
    connected = facts.timed.calls.connected
    told = connected > 0  # a library may not say when it was connected
    waited_ns = (stamps.accepted - connected)[told] if stamps else None
    return {
        "processes": len(said),
        "cpus": facts.provider_cpus,
        "requests": _total(said, "requests"),
        "connections": None if stamps is None else np.unique(stamps.accepted[stamps.seen > 0]).size,
        "peak_in_flight": _total(said, "peak_in_flight"),  # of several processes: not at one instant
        "abandoned": _total(said, "abandoned"),
        "unmarked": _total(said, "unmarked"),
        "faults": _counts(said, "faults"),
        "late_accepts": None if waited_ns is None else int((waited_ns > LATE_ACCEPT_NS).sum()),
        "lateness_ms": late[0],
    }


def _grouped(groups: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The groups as a record's keyword arguments."""
    return dict(groups)


def _total(said: tuple[Mapping[str, Any], ...], name: str) -> int:
    return sum(int(each[name]) for each in said)


def _counts(said: tuple[Mapping[str, Any], ...], name: str) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in said:
        found.update(each[name])
    return dict(found)


def _put(groups: dict[str, dict[str, Any]], path: str, figure: Any) -> None:
    *parents, last = path.split(".")
    at: dict[str, Any] = groups
    for name in parents:
        at = at.setdefault(name, {})
    at[last] = figure
