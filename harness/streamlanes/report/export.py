"""A run as a table: a pandas frame for notebooks, CSV for everything else."""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from streamlanes.errors import UserError
from streamlanes.record import Record
from streamlanes.report.load import Run

if TYPE_CHECKING:
    import pandas

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """One flat row a record: dotted path -> value; None for a figure that was not obtained.

    `flags` holds the names, `missing` the reasons as `path: reason; ...`, `quality` likewise.
    """
    return [_row(record) for record in records]


def frame(records: Iterable[Record]) -> "pandas.DataFrame":
    """The rows as a frame. A column that is a number in any row is a number in all, NaN where null; so is
    one that no row has a value for."""
    import pandas as pd

    flat = rows(records)
    made = pd.DataFrame(flat, columns=columns(flat))
    for name in made.columns:
        values = made[name].dropna()
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
            made[name] = pd.to_numeric(made[name])
    return made


def columns(flat: Iterable[Mapping[str, Any]]) -> list[str]:
    """All paths, in the order of the record's own groups."""
    order = {name: place for place, name in enumerate(Record.__struct_fields__)}
    paths = dict.fromkeys(path for row in flat for path in row)
    return sorted(paths, key=lambda path: order[path.partition(".")[0]])


def write_csv(run: Run, path: Path) -> Path:
    """Every record of the run as CSV (UTF-8, a header line); raises UserError if it cannot be written.

    Text that a spreadsheet would take for a formula gets an apostrophe in front. Numbers stay numbers.
    """
    flat = rows(run.records)
    try:
        with path.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, columns(flat))
            writer.writeheader()
            writer.writerows({name: _safe(value) for name, value in row.items()} for row in flat)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror}; make room or choose another folder"
        ) from None
    return path


def _row(record: Record) -> dict[str, Any]:
    raw = msgspec.to_builtins(record)
    raw["flags"] = " ".join(flag.name for flag in record.flags)
    raw["missing"] = "; ".join(f"{path}: {reason}" for path, reason in record.missing.items())
    raw["quality"] = "; ".join(f"{path}: {quality}" for path, quality in record.quality.items())
    return dict(_flat(raw, ""))


def _flat(group: Mapping[str, Any], above: str) -> Iterable[tuple[str, Any]]:
    for name, value in group.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        elif isinstance(value, list):
            yield above + name, json.dumps(value)
        else:
            yield above + name, value


def _safe(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value
