"""Kills of `streamlanes run`, where there is nothing to kill."""

import sys
from pathlib import Path

import pytest

from streamlanes.chaos import cells


def test_a_run_that_cannot_start_is_not_tried_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cells, "COMMAND", [sys.executable, "-S", "-c", "raise SystemExit('no such profile')"])
    monkeypatch.setattr(cells, "MOST_BEGUN", 2)
    found = cells.run_killed(1, tmp_path, seed=1, tell=lambda *_: None)
    assert (found.wanted, found.kills, found.runs, found.cells) == (1, 0, 2, 0)
    assert found.lost == 4, "two cells of each"
    assert found.last_words == "no such profile"
    assert not found.passed
