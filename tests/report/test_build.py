"""From a folder on disk to a page, in one call."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import streamlanes.lanes
from records import LANE, record
from streamlanes import report
from streamlanes.advise import answer
from streamlanes.errors import UserError
from streamlanes.record import Record, encode


@pytest.fixture(autouse=True)
def own_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the real lanes declare, this one is `io` here."""
    monkeypatch.setattr(streamlanes.lanes, "LANES", {"io": "records:LANE"})


def a_run(folder: Path, *records: Record) -> Path:
    (folder / "run.json").write_text(json.dumps({"profile": "quick"}), encoding="utf-8")
    (folder / "records.jsonl").write_bytes(b"".join(map(encode, records)))
    return folder


def test_a_report_has_a_page_charts_and_csv(tmp_path: Path) -> None:
    figures = {"latency.stream_ms.p99": 2.0}
    page = report.build(a_run(tmp_path, record(figures=figures), record("uvloop", figures=figures)), answer)
    assert page == tmp_path / "report" / "index.html"
    text = page.read_text(encoding="utf-8")
    assert "ANSWER" in text
    for name in ("records.csv", "lateness.svg", "lateness.png"):
        assert (page.parent / name).stat().st_size > 100
    assert LANE.charts[0].title in text


def test_a_second_report_replaces_the_first(tmp_path: Path) -> None:
    a_run(tmp_path, record(figures={"latency.stream_ms.p99": 2.0}))
    first = report.build(tmp_path, answer).read_bytes()
    assert report.build(tmp_path, answer).read_bytes() == first


def test_a_run_without_records_has_no_report_and_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no cell was measured") as raised:
        report.build(a_run(tmp_path), answer)
    assert raised.value.exit_code == 4


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    a_run(tmp_path, record())
    (tmp_path / "report").write_text("in the way", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be made"):
        report.build(tmp_path, answer)


def test_importing_the_report_loads_nothing_heavy() -> None:
    heavy = "('matplotlib', 'pandas', 'numpy')"
    code = f"import sys, streamlanes.report; print([n for n in {heavy} if n in sys.modules])"
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_charts_need_no_display_and_no_place_for_a_cache(tmp_path: Path) -> None:
    a_run(tmp_path, record(figures={"latency.stream_ms.p99": 2.0}))
    code = (
        "import sys; from pathlib import Path; import streamlanes.lanes; from streamlanes import report\n"
        "from streamlanes.advise import answer\n"
        "streamlanes.lanes.LANES = {'io': 'records:LANE'}\n"
        "report.build(Path(sys.argv[1]), answer); print('matplotlib.pyplot' in sys.modules)"
    )
    nowhere = tmp_path / "run.json" / "below-a-file"
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path)],
        env={"PYTHONPATH": path, "HOME": str(nowhere), "MPLCONFIGDIR": str(nowhere), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (0, "False", "")
