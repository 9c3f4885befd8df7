"""Frames and CSV of a run."""

import csv
from pathlib import Path

import pandas as pd
import pytest

from records import record
from streamlanes.errors import UserError
from streamlanes.record import FlagName, Record
from streamlanes.report.export import frame, write_csv
from streamlanes.report.load import Run


def run_of(*records: Record) -> Run:
    return Run(folder=Path("run"), info={}, records=list(records))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def test_a_frame_has_a_row_a_record_and_a_column_a_path() -> None:
    made = frame(
        [
            record("asyncio", figures={"latency.stream_ms.p99": 3.5}),
            record("uvloop", flags=[FlagName.CLIENT_LIMITED, FlagName.NOISY_HOST]),
        ]
    )
    assert list(made["cell.backend"]) == ["asyncio", "uvloop"]
    assert list(made["flags"]) == ["", "client-limited noisy-host"]
    assert list(made["status.name"]) == ["ok", "ok"]
    assert made["latency.stream_ms.p99"].iloc[0] == 3.5
    assert pd.isna(made["latency.stream_ms.p99"].iloc[1])
    assert list(made["cell.axes.rate_per_s"]) == [20000.0, 20000.0]


def test_a_null_is_no_number_in_a_frame_and_keeps_its_reason() -> None:
    made = frame([record(missing={"time.wall_s": "stopped"}), record("uvloop", figures={"time.wall_s": 5.0})])
    assert made["time.wall_s"].dtype == "float64"
    assert pd.isna(made["time.wall_s"].iloc[0])
    assert made["missing"].iloc[0] == "time.wall_s: stopped"
    nowhere = frame([record(missing={"time.wall_s": "stopped"})])["time.wall_s"]
    assert (nowhere.dtype, nowhere.isna().all()) == ("float64", True)


def test_no_record_makes_an_empty_frame() -> None:
    assert len(frame([])) == 0


def test_csv_reads_back_as_it_was(tmp_path: Path) -> None:
    awkward = record("asyncio", reason='a "quoted", comma\nand a line', figures={"time.overrun_s": -0.25})
    write_csv(run_of(awkward, record("uvloop")), tmp_path / "r.csv")
    first, second = read(tmp_path / "r.csv")
    assert first["status.reason"] == 'a "quoted", comma\nand a line'
    assert first["time.overrun_s"] == "-0.25"
    assert second["time.overrun_s"] == ""
    assert second["cell.backend"] == "uvloop"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_looks_like_a_formula_is_disarmed(tmp_path: Path, start: str) -> None:
    write_csv(run_of(record(reason=f"{start}HYPERLINK(1)")), tmp_path / "r.csv")
    assert read(tmp_path / "r.csv")[0]["status.reason"] == f"'{start}HYPERLINK(1)"


def test_columns_stand_in_the_order_of_the_record(tmp_path: Path) -> None:
    write_csv(run_of(record(figures={"time.wall_s": 1.0})), tmp_path / "r.csv")
    names = (tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert names[0] == "schema"
    assert names.index("cell.id") < names.index("status.name") < names.index("time.wall_s")


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        write_csv(run_of(record()), tmp_path / "missing" / "r.csv")
