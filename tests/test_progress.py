"""How a run shows itself: plain lines, a bar, records as JSON."""

import io
import json

import pytest

from records import record
from streamlanes.cells import Cell
from streamlanes.progress import Bar, Json, Plain, duration
from streamlanes.record import FlagName, StatusName

CELL = Cell(lane="io", backend="asyncio", client="streams", workload="steady", calls=2000)


def test_plain_lines_count_and_say_how_it_ended():
    out = io.StringIO()
    plain = Plain(total=3, done=1, out=out)
    plain.begin(CELL)
    plain.end(CELL, record(figures={"latency.stream_ms.p99": 1.25}, flags=[FlagName.NOISY_HOST]))
    plain.end(CELL, record(status=StatusName.UNSUPPORTED, reason="nofile: 564 needed"))
    first, second = out.getvalue().splitlines()
    assert first == f"[2/3] {CELL.id}  ok  stream lateness p99 1.2 ms  noisy-host"
    assert second.endswith("unsupported: nofile: 564 needed")


def test_json_prints_the_record_and_nothing_else(capsys: pytest.CaptureFixture[str]):
    talk = io.StringIO()
    Json(Plain(1, 0, talk)).end(CELL, record())
    out = capsys.readouterr().out
    assert json.loads(out)["schema"] == "streamlanes.cell/1"
    assert out.count("\n") == 1
    assert talk.getvalue().startswith("[1/1]")


def test_the_bar_keeps_what_went_wrong_on_the_screen(capsys: pytest.CaptureFixture[str]):
    bar = Bar({CELL.id: 10.0, "other": 200.0}, [])
    bar.begin(CELL)
    bar.end(CELL, record(status=StatusName.CRASHED, reason="[red]killed[/red]"))
    bar.close()
    said = capsys.readouterr().err
    assert "crashed: [red]killed[/red]" in said


def test_durations_read_well():
    assert duration(12.4) == "12 s"
    assert duration(312) == "5.2 min"
