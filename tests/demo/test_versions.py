"""The act of two versions."""

import pytest

from streamlanes.demo import versions
from streamlanes.demo.figures import Stage
from streamlanes.durable.leases import Leases


def test_every_figure_is_as_expected(stage: Stage):
    figures = versions.act(stage)
    assert [figure.what for figure in figures if not figure.holds] == []
    assert len(figures) == 10


def test_a_store_that_forgets_versions_is_found_out(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    made = Leases.__init__

    def forgetful(self: Leases, database: object, version: int = 1) -> None:
        made(self, database, 1)

    monkeypatch.setattr(Leases, "__init__", forgetful)
    wrong = {figure.what for figure in versions.act(stage) if not figure.holds}
    assert "steps on another version than their first" in wrong
    assert "executions that version 2 carried out" in wrong
