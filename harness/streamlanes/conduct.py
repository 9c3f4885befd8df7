"""One plan carried out in one folder: from a profile to records, report and answer."""

import contextlib
import importlib.util
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

import msgspec

from streamlanes import __version__, estimate, limits, preflight, runner
from streamlanes.backends import BACKENDS
from streamlanes.cells import Cell
from streamlanes.clients import CLIENTS
from streamlanes.errors import Terminated
from streamlanes.journal import RUN_SCHEMA, Journal, link_latest, open_run, run_hash
from streamlanes.lanes import lane as lane_named
from streamlanes.plan import FixedPlan
from streamlanes.probe.machine import fingerprint, machine
from streamlanes.probe.softirq import charged_apart
from streamlanes.process import Bench, CellEnded, provider_ports
from streamlanes.profile import Profile
from streamlanes.progress import Bar, Json, Plain, duration, show_json
from streamlanes.record import Record, Status, StatusName
from streamlanes.recording import failed, record
from streamlanes.workload import build

RESULTS = Path("results")
FALLBACK_SOMAXCONN = 128
WARMING_CALLS = 50


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM unwind like Ctrl-C."""

    def unwind(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run(profile: Profile, *, out: Path | None, json: bool, talk: IO[str]) -> tuple[Path, list[Record]]:
    """Carry out a profile. Returns the run's folder and its records.

    talk: where a person's lines go; with `json` records are all that standard output gets.
    Raises UserError; on Ctrl-C or SIGTERM every process is gone and every record kept.
    """
    lane = lane_named(profile.run.lane)
    plan = FixedPlan(profile.expand(), profile.run.seed)
    softirq_apart = charged_apart()
    here = {**machine(), "softirq_apart": softirq_apart}
    ids = [cell.id for cell in plan.cells]
    info = _info(profile, plan.cells, here)
    seconds = {cell.id: estimate.seconds(cell) for cell in plan.cells}
    # Raised for all calls at once: where calls come and go, late ones pile up beyond the schedule's peak.
    raised = limits.raise_open_files(max(_need(cell, cell.calls).descriptors for cell in plan.cells))
    journal, continued = open_run(RESULTS, out, info, set(ids))
    try:
        link_latest(RESULTS, journal.folder)
        done = {record.cell.id for record in journal.records}
        _say_plan(profile, seconds, done, here, raised, talk)
        if continued:
            print(f"continuing {journal.folder}: {len(done)} of {len(ids)} cells are measured", file=talk)
        bench = Bench(
            lane,
            limits.read_limits().somaxconn or FALLBACK_SOMAXCONN,
            softirq_apart=softirq_apart,
        )
        with contextlib.closing(bench):
            measure = Measure(bench, here, warmup=profile.run.warmup)
            _measure(plan, journal, measure, seconds, json, talk)
        return journal.folder, list(journal.records)
    except (KeyboardInterrupt, Terminated):
        print(
            f"interrupted: {len(journal.records)} of {len(ids)} cells are kept in {journal.folder}; "
            "the same command goes on from there",
            file=sys.stderr,
        )
        raise
    finally:
        journal.close()


class Measure:
    """What the runner calls for each cell: may it run here, measure it, make its record."""

    def __init__(self, bench: Bench, here: Mapping[str, Any], *, warmup: bool) -> None:
        self._bench = bench
        self._here = here
        self._warmup = warmup
        self._warm: set[str] = set()

    def __call__(self, cell: Cell) -> Record:
        """The cell's record, whatever became of it."""
        lane = self._bench.lane
        try:
            forbid(cell)
            if self._warmup and cell.backend not in self._warm:
                self._warm.add(cell.backend)
                with contextlib.suppress(CellEnded):  # then the cell itself will say why
                    self._bench.measure(warming(cell))
            return record(cell, lane, self._here, self._bench.measure(cell))
        except CellEnded as ended:
            return failed(cell, lane, self._here, ended.status)


def warming(cell: Cell) -> Cell:
    """A small cell of the same backend and client, to be thrown away: files read, caches warm."""
    own = dict.fromkeys(("arrival", "ramp_s", "rate_per_s", "time_scale", "trace"))  # of its workload
    axes = msgspec.structs.replace(cell.axes, ttft_ms=50, gap_ms=10, tokens=10, **own)
    small = {"workload": "lesson", "calls": min(cell.calls, WARMING_CALLS), "budget_s": None, "memory": False}
    return msgspec.structs.replace(cell, axes=axes, **small)


def _measure(
    plan: FixedPlan,
    journal: Journal,
    measure: Measure,
    seconds: Mapping[str, float],
    json: bool,
    talk: IO[str],
) -> None:
    with contextlib.ExitStack() as stack:
        shown: Plain | Bar | Json
        if talk.isatty():
            shown = bar = Bar(seconds, journal.records)
            stack.callback(bar.close)
        else:
            shown = Plain(len(seconds), len(journal.records), talk)
        if json:
            for already in journal.records:
                show_json(already)
            shown = Json(shown)
        runner.run(plan, journal, measure, shown)


def forbid(cell: Cell) -> None:
    """Raise CellEnded for a cell that this machine cannot run, before anything is started."""
    needs = BACKENDS[cell.backend].needs
    if needs and importlib.util.find_spec(needs) is None:
        reason = f"{needs} is not installed; install it with: pip install {needs}"
        raise CellEnded(Status(StatusName.UNSUPPORTED, reason))
    in_flight = cell.in_flight(build(cell.load(), cell.calls))
    short = preflight.shortfalls(limits.read_limits(), _need(cell, in_flight))
    if short:
        raise CellEnded(Status(StatusName.UNSUPPORTED, preflight.reason(short[0])))


def _need(cell: Cell, in_flight: int) -> preflight.Need:
    processes = limits.cpu_sets().provider_processes
    somaxconn = limits.read_limits().somaxconn or FALLBACK_SOMAXCONN
    return preflight.need(
        backend=BACKENDS[cell.backend],
        client=CLIENTS[cell.client],
        in_flight=in_flight,
        workers=cell.workers,
        width=cell.width,
        provider_processes=processes,
        provider_ports=processes * provider_ports(cell.calls, somaxconn, processes),
    )


def _info(profile: Profile, cells: Sequence[Cell], here: Mapping[str, Any]) -> dict[str, Any]:
    # As asked: a trace by its content and not by its path.
    resolved = {
        "cells": [msgspec.to_builtins(cell) | {"axes": msgspec.to_builtins(cell.asked)} for cell in cells],
        "seed": profile.run.seed,
        "warmup": profile.run.warmup,
    }
    return {
        "schema": RUN_SCHEMA,
        "hash": run_hash(resolved, fingerprint(dict(here))),
        "streamlanes": __version__,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "profile": {"name": profile.name, **resolved},
        "machine": dict(here),
    }


def _say_plan(
    profile: Profile,
    seconds: Mapping[str, float],
    done: set[str],
    here: Mapping[str, Any],
    raised: limits.Raised | None,
    talk: IO[str],
) -> None:
    """The estimate first, then machine and limits."""
    left = sum(took for each, took in seconds.items() if each not in done)
    cells = len(seconds.keys() - done)
    print(
        f"streamlanes {__version__}   profile {profile.name}   {cells} cells, about {duration(left)}"
        "   (Ctrl-C keeps what is measured)",
        file=talk,
    )
    gib = round(here.get("memory_bytes", 0) / 2**30)
    print(
        f"machine   {here['cpu']}, {here['cpus_usable']} CPUs, {gib} GiB, {here['system']} {here['kernel']}, "
        f"{here['implementation']} {here['python']}"
        + (f", uvloop {here['uvloop']}" if "uvloop" in here else ""),
        file=talk,
    )
    found = limits.read_limits()
    files = f"open files {found.nofile_soft:,}" if found.nofile_soft else "open files unlimited"
    if raised and raised.after > raised.before:
        files = f"open files {raised.before:,} -> {raised.after:,} (raised for this run)"
    elif raised:
        files += f" (could not be raised: {raised.reason})"
    more = [
        f"{what} {value:,}" for what, value in (("ports", found.ports), ("threads", _threads(found))) if value
    ]
    print("limits    " + ", ".join([files, *more]), file=talk, flush=True)


def _threads(found: limits.Limits) -> int | None:
    known = [each for each in (found.threads_max, found.pids_max, found.pid_max) if each]
    return min(known) if known else None


def summary(records: Sequence[Record], lane_name: str) -> list[str]:
    """A lane's table and answer, as a run ends with them."""
    from streamlanes import advise
    from streamlanes.report import tables

    lane = lane_named(lane_name)
    return [*tables.lines(records, lane), "", *advise.answer(records, lane)]


def finish(folder: Path, records: Sequence[Record], lane_name: str, talk: IO[str]) -> int:
    """Table, answer, charts and the file to open. Returns the exit code."""
    from streamlanes import advise, report

    try:
        page = report.build(folder, advise.answer)
    except (KeyboardInterrupt, Terminated):
        print(
            f"interrupted: all cells are kept; draw them with: streamlanes report {folder}", file=sys.stderr
        )
        raise
    for line in ("", *summary(records, lane_name), f"OPEN    {page}"):
        print(line, file=talk)
    measured = any(each.status.name in (StatusName.OK, StatusName.OVER_BUDGET) for each in records)
    return 0 if measured else 4
