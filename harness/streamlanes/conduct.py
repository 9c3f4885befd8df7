"""One plan carried out in one folder: from a profile to records, report and answer."""

import contextlib
import importlib.util
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import IO, Any

import msgspec

from streamlanes import __version__, estimate, interpreters, limits, preflight, runner
from streamlanes.backends import BACKENDS
from streamlanes.cells import Cell
from streamlanes.clients import CLIENTS
from streamlanes.errors import Terminated
from streamlanes.facts import Facts
from streamlanes.interpreters import Interpreter
from streamlanes.journal import RUN_SCHEMA, Journal, link_latest, open_run, run_hash
from streamlanes.lanes import lane as lane_named
from streamlanes.lanes.base import Lane
from streamlanes.plan import FixedPlan
from streamlanes.probe.machine import fingerprint, machine
from streamlanes.process import Bench, CellEnded, cpu_sets
from streamlanes.profile import Profile
from streamlanes.progress import Bar, Json, Plain, duration, show_json
from streamlanes.record import Record, Status, StatusName
from streamlanes.recording import failed, record

RESULTS = Path("results")
FALLBACK_SOMAXCONN = 128


@dataclass(frozen=True)
class Here:
    """What the cells of a run share: lane, this machine, and by name the interpreters they ask for."""

    lane: Lane
    machine: Mapping[str, Any]
    pythons: Mapping[str, Interpreter] = field(default_factory=dict)

    def bench(self) -> Bench:
        """A bench for them; the caller closes it."""
        paths = {name: found.path for name, found in self.pythons.items()}
        return Bench(self.lane, limits.read_limits().somaxconn or FALLBACK_SOMAXCONN, paths)

    def measure(self, bench: Bench, cell: Cell) -> Record:
        """The cell's record, however it ends."""
        return self.examine(bench, cell)[0]

    def examine(self, bench: Bench, cell: Cell) -> tuple[Record, Facts | None]:
        """The cell's record and the facts behind it; none where it came to no figures."""
        try:
            forbid(cell, self.pythons)
            facts = bench.measure(cell)
        except CellEnded as ended:
            return failed(cell, self.lane, self.machine, ended.status), None
        return record(cell, self.lane, self.machine, facts), facts


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
    pythons = interpreters.find(profile.pythons())
    names = {given: found.name for given, found in pythons.items()}
    plan = FixedPlan(profile.expand(names), profile.run.seed)
    here = Here(lane_named(profile.run.lane), machine(), {found.name: found for found in pythons.values()})
    ids = [cell.id for cell in plan.cells]
    info = _info(profile, plan.cells, here)
    seconds = {cell.id: estimate.seconds(cell) for cell in plan.cells}
    raised = limits.raise_open_files(max(need(cell).descriptors for cell in plan.cells))
    journal, continued = open_run(RESULTS, out, info, set(ids))
    try:
        link_latest(RESULTS, journal.folder)
        done = {record.cell.id for record in journal.records}
        _say_plan(profile, seconds, done, here.machine, raised, talk)
        if pythons:
            print(f"pythons   {interpreters.legend(pythons)}", file=talk)
        if continued:
            print(f"continuing {journal.folder}: {len(done)} of {len(ids)} cells are measured", file=talk)
        _measure(plan, journal, here, seconds, json, talk)
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


def _measure(
    plan: FixedPlan,
    journal: Journal,
    here: Here,
    seconds: Mapping[str, float],
    json: bool,
    talk: IO[str],
) -> None:
    bench = here.bench()
    with contextlib.ExitStack() as stack:
        stack.callback(bench.close)
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
        runner.run(plan, journal, partial(here.measure, bench), shown)


def forbid(cell: Cell, pythons: Mapping[str, Interpreter] = MappingProxyType({})) -> None:
    """Raise CellEnded for a cell that this machine cannot run, before anything is started.

    pythons: by name, the interpreters that cells name.
    """
    if cell.axes.python is None:
        reason = missing_import(cell.backend)
    else:
        reason = pythons[cell.axes.python].forbids(BACKENDS[cell.backend])
    found = limits.read_limits()
    if reason is None and (short := preflight.shortfalls(found, need(cell, found.somaxconn))):
        reason = preflight.reason(short[0])
    if reason is not None:
        raise CellEnded(Status(StatusName.UNSUPPORTED, reason))


def missing_import(backend: str) -> str | None:
    """Why this interpreter cannot run the backend, with what to do; None where it can."""
    needs = BACKENDS[backend].needs
    if not needs or importlib.util.find_spec(needs) is not None:
        return None
    return f"{needs} is not installed; install it with: pip install {needs}"


def need(cell: Cell, somaxconn: int | None = None) -> preflight.Need:
    """What the cell takes of each limited thing. somaxconn: a provider process opens as many ports as
    keep all calls waiting at once; None counts one port."""
    sets = cpu_sets()
    waiting = (somaxconn or cell.calls) * sets.provider_processes
    return preflight.need(
        backend=BACKENDS[cell.backend],
        client=CLIENTS[cell.client],
        in_flight=min(cell.calls, cell.width or cell.calls),
        workers=cell.workers,
        width=cell.width,
        provider_processes=sets.provider_processes,
        provider_ports=-(-cell.calls // waiting) * sets.provider_processes,
    )


def _info(profile: Profile, cells: Sequence[Cell], here: Here) -> dict[str, Any]:
    resolved = {"cells": [msgspec.to_builtins(cell) for cell in cells], "seed": profile.run.seed}
    if here.pythons:  # another build of the same version makes another run
        resolved["pythons"] = {name: found.build for name, found in here.pythons.items()}
    return {
        "schema": RUN_SCHEMA,
        "hash": run_hash(resolved, fingerprint(dict(here.machine))),
        "streamlanes": __version__,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "profile": {"name": profile.name, **resolved},
        "machine": dict(here.machine),
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
    if raised:
        files = f"open files {raised.before:,} -> {raised.after:,} (raised for this run)"
    more = [
        f"{what} {value:,}" for what, value in (("ports", found.ports), ("threads", _threads(found))) if value
    ]
    print("limits    " + ", ".join([files, *more]), file=talk, flush=True)


def _threads(found: limits.Limits) -> int | None:
    known = [each for each in (found.threads_max, found.pids_max, found.pid_max) if each]
    return min(known) if known else None


def finish(folder: Path, records: Sequence[Record], lane_name: str, talk: IO[str]) -> int:
    """Table, answer, charts and the file to open. Returns the exit code."""
    from streamlanes import advise, report
    from streamlanes.report import tables

    lane = lane_named(lane_name)
    page = report.build(folder, advise.answer)
    print(file=talk)
    for line in tables.lines(records, lane):
        print(line, file=talk)
    print(file=talk)
    for line in advise.answer(records, lane):
        print(line, file=talk)
    print(f"OPEN    {page}", file=talk)
    measured = any(each.status.name in (StatusName.OK, StatusName.OVER_BUDGET) for each in records)
    return 0 if measured else 4
