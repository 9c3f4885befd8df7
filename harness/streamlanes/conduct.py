"""One plan carried out in one folder: from a profile to records, report and answer."""

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import IO, Any

import msgspec

from streamlanes import __version__, fitting, interpreters, limits, preflight, runner, targets
from streamlanes.backends import BACKENDS
from streamlanes.cells import Cell
from streamlanes.errors import Terminated, UserError
from streamlanes.estimate import Outlook
from streamlanes.facts import Facts
from streamlanes.hearing import CellEnded
from streamlanes.interpreters import Interpreter
from streamlanes.journal import RUN_SCHEMA, Journal, link_latest, open_run, run_hash
from streamlanes.lanes import lane as lane_named
from streamlanes.lanes import lanes_of
from streamlanes.lanes.base import Lane
from streamlanes.plan import Plan
from streamlanes.probe.machine import fingerprint, machine
from streamlanes.probe.softirq import charged_apart
from streamlanes.process import Bench, provider_ports
from streamlanes.profile import Profile
from streamlanes.progress import Bar, Json, Plain, duration, show_json
from streamlanes.record import Record, Status, StatusName
from streamlanes.recording import failed, record, record_of
from streamlanes.workload import build

RESULTS = Path("results")
FALLBACK_SOMAXCONN = 128
WARMING_CALLS = 50


@dataclass(frozen=True)
class Here:
    """What the cells of a run share: lane, this machine, by name the interpreters they ask for, and
    people's functions as those find them."""

    lane: Lane
    machine: Mapping[str, Any]
    pythons: Mapping[str, Interpreter] = field(default_factory=dict)
    functions: Mapping[targets.Key, targets.Target] = field(default_factory=dict)

    def bench(self) -> Bench:
        """A bench for them; the caller closes it."""
        return Bench(
            self.lane,
            limits.read_limits().somaxconn or FALLBACK_SOMAXCONN,
            {name: found.path for name, found in self.pythons.items()},
            softirq_apart=self.machine.get("softirq_apart", False),
        )

    def examine(
        self, bench: Bench, cell: Cell, before: Callable[[Cell], None] | None = None
    ) -> tuple[Record, Facts | None]:
        """The cell's record and the facts behind it; none where it came to no figures.

        before: called for a cell that may run, ahead of its measurement.
        """
        try:
            forbid(cell, self.pythons, self.functions)
            own = lane_named(cell.lane)
            if own.measured_by is not None:
                return record_of(cell, own, self.machine, own.view(_measured_by(own.measured_by, cell))), None
            if before is not None:
                before(cell)
            facts = bench.measure(cell)
        except CellEnded as ended:
            return failed(cell, lane_named(cell.lane), self.machine, ended.status), None
        return record(cell, own, self.machine, facts), facts


def _measured_by(target: str, cell: Cell) -> Any:
    """What that function finds. Raises CellEnded where it cannot be had here."""
    module, attribute = target.split(":")
    try:
        return getattr(import_module(module), attribute)(cell)
    except UserError as error:
        raise CellEnded(Status(StatusName.UNSUPPORTED, interpreters.without_folders(str(error)))) from None


def this_machine() -> dict[str, Any]:
    """This machine as records show it, and how its kernel counts soft interrupts."""
    return {**machine(), "softirq_apart": charged_apart()}


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
    given = interpreters.find(profile.pythons(), profile.clients())
    pythons = {each.name: each for each in given.values()}
    plan, functions = _planned(profile, {each: found.name for each, found in given.items()}, pythons)
    here = Here(lane_named(profile.run.lane), this_machine(), pythons, functions)
    cells = plan.ahead([])
    info = _info(profile, cells, here)
    # Raised for all calls at once: where calls come and go, late ones pile up beyond the schedule's peak.
    somaxconn = limits.read_limits().somaxconn
    raised = limits.raise_open_files(max(need(cell, cell.calls, somaxconn).descriptors for cell in cells))
    journal, continued = open_run(RESULTS, out, info, lambda done: plan.next(done) is not None)
    outlook = Outlook(plan, journal.records)
    try:
        link_latest(RESULTS, journal.folder)
        _say_plan(profile, outlook, here.machine, raised, talk)
        if lacking := fitting.lacking(cells):
            print(f"lacking   {lacking}", file=talk)
        if given:
            print(f"pythons   {interpreters.legend(given)}", file=talk)
        if continued:
            total = outlook.done + outlook.left
            print(f"continuing {journal.folder}: {outlook.done} of {total} cells are measured", file=talk)
        with contextlib.closing(here.bench()) as bench:
            measure = Measure(bench, here, warmup=profile.run.warmup)
            _measure(plan, journal, measure, outlook, json, talk)
        return journal.folder, list(journal.records)
    except (KeyboardInterrupt, Terminated):
        print(
            f"interrupted: {outlook.done} of {outlook.done + outlook.left} cells are kept in "
            f"{journal.folder}; the same command goes on from there",
            file=sys.stderr,
        )
        raise
    finally:
        journal.close()


def _planned(
    profile: Profile, names: Mapping[str, str], pythons: Mapping[str, Interpreter]
) -> tuple[Plan, dict[targets.Key, targets.Target]]:
    """The profile's plan, and what the functions are that its cells call: only then it is known which
    backends fit one for which none was named."""
    plan = profile.plan(names)
    called = [(cell.call, cell.axes.python) for cell in plan.ahead([]) if cell.call]
    functions = targets.find(called, pythons)
    if not functions:
        return plan, functions
    waits = {name: found.waits for (name, _), found in functions.items() if found.waits is not None}
    return profile.plan(names, waits), functions


class Measure:
    """What the runner calls for each cell: may it run here, measure it, make its record."""

    def __init__(self, bench: Bench, here: Here, *, warmup: bool) -> None:
        self._bench = bench
        self._here = here
        self._warmup = warmup
        self._warm: set[tuple[str, str, str | None]] = set()

    def __call__(self, cell: Cell) -> Record:
        """The cell's record, whatever became of it."""
        return self._here.examine(self._bench, cell, self._warm_up)[0]

    def _warm_up(self, cell: Cell) -> None:
        which = (cell.backend, cell.client, cell.axes.python)
        if self._warmup and which not in self._warm:
            self._warm.add(which)
            with contextlib.suppress(CellEnded):  # then the cell itself will say why
                self._bench.measure(warming(cell))


def warming(cell: Cell) -> Cell:
    """A small cell of the same backend and client, to be thrown away: files read, caches warm."""
    own = dict.fromkeys(("arrival", "ramp_s", "gaps", "rate_per_s", "time_scale", "trace"))  # of its workload
    axes = msgspec.structs.replace(cell.axes, ttft_ms=50, gap_ms=10, tokens=10, **own)
    if lane_named(cell.lane).lasts_s(cell):
        axes = msgspec.structs.replace(axes, run_s=1)
    small = {
        "workload": "lesson",
        "calls": min(cell.calls, WARMING_CALLS),
        "budget_s": None,
        "memory": False,
        "provider": None,
    }
    return msgspec.structs.replace(cell, axes=axes, **small)


def _measure(
    plan: Plan,
    journal: Journal,
    measure: Measure,
    outlook: Outlook,
    json: bool,
    talk: IO[str],
) -> None:
    with contextlib.ExitStack() as stack:
        shown: Plain | Bar | Json
        if talk.isatty():
            shown = bar = Bar(outlook)
            stack.callback(bar.close)
        else:
            shown = Plain(outlook, talk)
        if json:
            for already in journal.records:
                show_json(already)
            shown = Json(shown)
        runner.run(plan, journal, measure, shown)


def forbid(
    cell: Cell,
    pythons: Mapping[str, Interpreter] = MappingProxyType({}),
    functions: Mapping[targets.Key, targets.Target] = MappingProxyType({}),
) -> None:
    """Raise CellEnded for a cell that this machine cannot run, before anything is started.

    pythons: by name, the interpreters that cells name. functions: what people's own are.
    """
    reason = fitting.misfit(cell)
    if reason is None:
        crew = fitting.crew_of(cell)
        if cell.axes.python is None:
            reason = fitting.missing_import(cell) or fitting.missing_crew(crew)
        else:
            python = pythons[cell.axes.python]
            reason = python.forbids(fitting.imports(cell)) or python.forbids_crew(crew)
    if reason is None and cell.call is not None:
        reason = functions[cell.call, cell.axes.python].forbids(cell.backend)
    if reason is None:
        found = limits.read_limits()
        in_flight = cell.in_flight(build(cell.load(), cell.calls))
        short = preflight.shortfalls(found, need(cell, in_flight, found.somaxconn))
        reason = preflight.reason(short[0]) if short else None
    if reason is not None:
        raise CellEnded(Status(StatusName.UNSUPPORTED, reason))


def need(cell: Cell, in_flight: int, somaxconn: int | None) -> preflight.Need:
    """What the cell takes of each limited thing with so many calls in flight.

    somaxconn: decides how many ports a provider opens; None where the system does not say.
    """
    processes = limits.cpu_sets().provider_processes
    ports = provider_ports(cell.calls, somaxconn or FALLBACK_SOMAXCONN, processes)
    return preflight.need(
        backend=BACKENDS[cell.backend],
        client=cell.client_info,
        crew=fitting.crew_of(cell),
        in_flight=in_flight,
        workers=cell.workers,
        width=cell.width,
        provider_processes=processes,
        provider_ports=processes * ports,
    )


def _info(profile: Profile, cells: Sequence[Cell], here: Here) -> dict[str, Any]:
    # As asked: a trace by its content and not by its path.
    resolved: dict[str, Any] = {
        "cells": [_as_asked(cell) for cell in cells if cell.knee_bound_ms is None],
        "seed": profile.run.seed,
        "warmup": profile.run.warmup,
    }
    if searches := {cell.id: _as_asked(cell) for cell in cells if cell.knee_bound_ms is not None}:
        resolved["knees"] = list(searches.values())  # each by its first cell
    if here.pythons:  # another build of the same version makes another run
        resolved["pythons"] = {name: found.build for name, found in here.pythons.items()}
    if here.functions:  # and so does another text of somebody's own module
        resolved["calls"] = {name: found.source for (name, _), found in here.functions.items()}
    # Spares say how long to go on and not what is measured: more of them continue the same run.
    spares = {"spares": profile.run.spares} if profile.run.spares else {}
    return {
        "schema": RUN_SCHEMA,
        "hash": run_hash(resolved, fingerprint(dict(here.machine))),
        "streamlanes": __version__,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "profile": {"name": profile.name, **resolved, **spares},
        "machine": dict(here.machine),
    }


def _as_asked(cell: Cell) -> dict[str, Any]:
    return {**msgspec.to_builtins(cell), "axes": msgspec.to_builtins(cell.asked)}


def _say_plan(
    profile: Profile,
    outlook: Outlook,
    here: Mapping[str, Any],
    raised: limits.Raised | None,
    talk: IO[str],
) -> None:
    """The estimate first, then machine and limits."""
    most = "at most " if profile.knee else ""
    print(
        f"streamlanes {__version__}   profile {profile.name}   {most}{outlook.left} cells, "
        f"about {duration(outlook.left_s)}   (Ctrl-C keeps what is measured)",
        file=talk,
    )
    gib = round(here.get("memory_bytes", 0) / 2**30)
    print(
        f"machine   {here['cpu']}, {here['cpus_usable']} CPUs, {gib} GiB, {here['system']} {here['kernel']}, "
        f"{here['implementation']} {here['python']}"
        + (f", uvloop {here['uvloop']}" if "uvloop" in here else "")
        + (f", {here['allocator']}" if "allocator" in here else ""),
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


def summary(records: Sequence[Record]) -> list[str]:
    """Each lane's tables, then the answer, as a run ends with them."""
    from streamlanes import advise
    from streamlanes.report import cost_table, tables

    lanes = lanes_of(each.cell.lane for each in records)
    said = [[*tables.lines(records, lane), *cost_table.lines(records, lane)] for lane in lanes]
    return [*(line for lines in said for line in [*lines, ""]), *advise.answer(records, lanes)]


def finish(folder: Path, records: Sequence[Record], talk: IO[str]) -> int:
    """Table, answer, charts and the file to open. Returns the exit code."""
    from streamlanes import advise, report

    try:
        page = report.build(folder, advise.answer)
    except (KeyboardInterrupt, Terminated):
        print(
            f"interrupted: all cells are kept; draw them with: streamlanes report {folder}", file=sys.stderr
        )
        raise
    print("", *summary(records), sep="\n", file=talk)
    print(f"OPEN    {page}", file=talk)
    measured = any(each.status.name in (StatusName.OK, StatusName.OVER_BUDGET) for each in records)
    return 0 if measured else 4
