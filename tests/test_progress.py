"""How a run shows itself: plain lines, a bar, records as JSON."""

import io
import json

import pytest

from records import record
from streamlanes.cells import Cell
from streamlanes.estimate import Outlook
from streamlanes.plan import FixedPlan
from streamlanes.progress import Bar, Json, Plain, duration
from streamlanes.record import FlagName, Record, StatusName

CELL = Cell(lane="io", backend="asyncio", client="streams", workload="steady", calls=2000)
OTHER = Cell(lane="io", backend="uvloop", client="streams", workload="steady", calls=2000)


def outlook(done: list[Record]) -> Outlook:
    return Outlook(FixedPlan([CELL, OTHER], 1), done)


def test_plain_lines_count_and_say_how_it_ended():
    out = io.StringIO()
    done: list[Record] = []
    plain = Plain(outlook(done), out)
    good = record(figures={"latency.stream_ms.p99": 1.25}, flags=[FlagName.NOISY_HOST])
    bad = record("uvloop", status=StatusName.UNSUPPORTED, reason="nofile: 564 needed")
    for one in (good, bad):
        plain.begin(CELL)
        done.append(one)
        plain.end(CELL, one)
    first, second = out.getvalue().splitlines()
    assert first == f"[1/2] {CELL.id}  ok  stream lateness p99 1.2 ms  noisy-host"
    assert second.endswith("unsupported: nofile: 564 needed")


def test_json_prints_the_record_and_nothing_else(capsys: pytest.CaptureFixture[str]):
    talk = io.StringIO()
    Json(Plain(outlook([record(), record("uvloop")]), talk)).end(CELL, record())
    out = capsys.readouterr().out
    assert json.loads(out)["schema"] == "streamlanes.cell/1"
    assert out.count("\n") == 1
    assert talk.getvalue().startswith("[2/2]")


def test_the_bar_keeps_what_went_wrong_on_the_screen(capsys: pytest.CaptureFixture[str]):
    bar = Bar(outlook([]))
    bar.begin(CELL)
    bar.end(CELL, record(status=StatusName.CRASHED, reason="[red]killed[/red]"))
    bar.close()
    said = capsys.readouterr().err
    assert "crashed: [red]killed[/red]" in said


def test_the_outlook_counts_what_is_left_and_how_long_it_takes():
    done: list[Record] = []
    found = outlook(done)
    assert (found.done, found.left) == (0, 2)
    both_s = found.left_s
    done.append(record())
    assert (found.done, found.left) == (1, 1)
    assert found.left_s == pytest.approx(both_s / 2)


def test_durations_read_well():
    assert duration(12.4) == "12 s"
    assert duration(312) == "5.2 min"
