"""The act of a person who approves; tests/real/test_demo.py plays it as it is."""

import pytest

from streamlanes.demo import approval
from streamlanes.demo.figures import Stage
from streamlanes.durable import people


def test_a_policy_that_is_not_kept_is_found_out(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    """Decisions that are good for ever, whatever the step asks for."""
    monkeypatch.setattr(people, "stands", lambda *_: True)
    wrong = {figure.what for figure in approval.act(stage) if not figure.holds}
    assert wrong == {"the same, where policy asks again", "times a person was asked then"}
