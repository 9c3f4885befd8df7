"""A run's folder into memory, strict about every whole line."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamlanes.errors import UserError
from streamlanes.journal import RECORDS, parse_records
from streamlanes.record import Record


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as it stands on disk.

    info: run.json. notices: what a person should know of the files, one line each.
    """

    folder: Path
    info: dict[str, Any]
    records: list[Record]
    notices: list[str] = field(default_factory=list)


def find_run(path: Path | None, results: Path) -> Path:
    """The folder of a run: the one named (or a bare name under `results`/runs), else the newest.

    Raises UserError where there is none.
    """
    if path is None:
        newest = results / "latest"
        if (newest / "records.jsonl").is_file():
            return newest.resolve()
        what = f"{newest} leads to no run" if newest.is_symlink() else f"no run in {results}"
        raise UserError(f"{what}; measure one with `streamlanes run`, or name a run's folder")
    for folder in (path, path.parent if path.name == "records.jsonl" else path, results / "runs" / path):
        if (folder / "records.jsonl").is_file():
            return folder.resolve()
    raise UserError(f"{path}: no run there (it has no records.jsonl); name the folder of a run")


def at_hand(here: Path | None = None, *, lane: str | None = None) -> Run:
    """The run to look at, for notebooks and scripts: the newest in `results/`, else the one published
    last. `results/` is that of this folder (or `here`) or of the nearest one above.

    lane: only runs that have records of it; without, whatever was measured. Raises UserError where there is
    none.
    """

    def fits(run: Run) -> bool:
        return any(lane is None or record.cell.lane == lane for record in run.records)

    start = (here or Path()).resolve()
    results = next((each for up in (start, *start.parents) if (each := up / "results").is_dir()), None)
    if results is None:
        raise UserError(f"no results folder in {start} or above it; go to the repository")
    latest = results / "latest"
    if (latest / RECORDS).is_file() and fits(newest := load_run(latest.resolve())):
        return newest
    published = [load_run(path.parent) for path in results.glob(f"published/*/*/{RECORDS}")]
    if not (fitting := [run for run in published if fits(run)]):
        what = f" of lane {lane}" if lane else ""
        raise UserError(f"no run{what} in {results}; measure one with `streamlanes run`")
    return max(fitting, key=lambda run: str(run.info.get("started")))


def load_run(folder: Path) -> Run:
    """The run in this folder.

    A last line that was cut by a kill in the middle of a write is left out with a notice; see
    journal.parse_records.
    """
    info = _info(folder / "run.json")
    source = folder / RECORDS
    data = _read(source)
    records, whole_bytes = parse_records(data, str(source))
    notices = []
    if whole_bytes < len(data):
        notices.append(
            f"{source.name} line {len(records) + 1} is cut and was left out; that cell counts as unmeasured"
        )
    return Run(folder=folder, info=info, records=records, notices=notices)


def _info(source: Path) -> dict[str, Any]:
    try:
        info = json.loads(_read(source))
    except ValueError as error:
        raise UserError(f"{source} is not valid JSON: {error}; restore it or measure the run again") from None
    if not isinstance(info, dict):
        raise UserError(f"{source} holds no JSON object; restore it or measure the run again")
    return info


def _read(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{source} is not there; name the folder of a run") from None
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror}") from None
