"""The act of a person who approves."""

import pytest

from streamlanes.demo import approval
from streamlanes.demo.figures import Stage
from streamlanes.durable import people


def test_every_figure_is_as_expected(stage: Stage):
    figures = approval.act(stage)
    assert [(figure.what, figure.measured) for figure in figures if not figure.holds] == []
    assert len(figures) == 12


def test_a_policy_that_is_not_kept_is_found_out(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    """Decisions that are good for ever, whatever the step asks for."""
    monkeypatch.setattr(people, "stands", lambda *_: True)
    wrong = {figure.what for figure in approval.act(stage) if not figure.holds}
    assert wrong == {"the same, where policy asks again", "times a person was asked then"}
