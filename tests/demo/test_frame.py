"""The frame of the demo: figures, the table of acts, the words. Nothing is measured here."""

from importlib import import_module

import pytest

from streamlanes.demo import acts
from streamlanes.demo.acts import ACTS, Played, chosen
from streamlanes.demo.figures import Compare, Figure
from streamlanes.demo.lines import act_lines, answer_line
from streamlanes.errors import UserError


def test_a_figure_holds_when_it_was_measured_as_expected():
    assert Figure("a", 1, 1).holds
    assert not Figure("a", 1, 2).holds
    assert Figure("a", "Diverged", "Diverged").holds
    assert not Figure("a", 0, None).holds, "what was not obtained is never as expected"
    assert Figure("a", 1.5, 2, Compare.AT_LEAST).holds
    assert not Figure("a", 2, 1.5, Compare.AT_LEAST).holds


def test_an_act_without_figures_shows_nothing():
    assert not Played("a", "", (), 0.0).holds
    assert Played("a", "", (Figure("a", 1, 1),), 0.0).holds
    assert not Played("a", "", (Figure("a", 1, 1), Figure("b", 1, 2)), 0.0).holds


@pytest.mark.parametrize("name", ACTS)
def test_every_act_is_there(name: str):
    module, attribute = ACTS[name].target.split(":")
    assert callable(getattr(import_module(module), attribute))
    assert "\n" not in ACTS[name].says


def test_acts_are_chosen_by_name():
    assert chosen([]) == list(ACTS)
    assert chosen(["clock"]) == ["clock"]
    with pytest.raises(UserError, match="unknown act 'clok'; did you mean 'clock'"):
        chosen(["clok"])


def test_acts_are_played_in_turn_each_in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch):
    seen = []

    def act(stage):
        assert list(stage.folder.iterdir()) == []
        (stage.folder / "left").write_text("")
        seen.append(stage)
        return [Figure("a", 2, stage.crash_at)]

    monkeypatch.setattr(acts, "_function", lambda target: act)
    played = list(acts.play(["clock", "replay"], crash_at=2, calls=7))
    assert [one.name for one in played] == ["clock", "replay"]
    assert all(one.holds for one in played)
    assert seen[0].folder != seen[1].folder
    assert not any(stage.folder.exists() for stage in seen)


def test_what_was_expected_stands_beside_what_was_measured():
    right = Figure("activities", 1000, 1000)
    wrong = Figure("wall", 2.5, 1.25, Compare.AT_LEAST, "s")
    said = act_lines(Played("replay", "of two lives", (right, wrong), 1.0), 1, 2)
    assert said[0] == "[1/2] replay: of two lives (1.0 s)"
    assert said[1].split() == ["expected", "measured"]
    assert said[2].split() == ["activities", "1,000", "1,000"]
    assert said[3].split() == ["wall", ">=", "2.50", "s", "1.25", "s", "NOT", "AS", "EXPECTED"]
    good, bad = Played("a", "", (right,), 1.0), Played("b", "", (wrong,), 2.0)
    assert answer_line([good]) == "ANSWER  1 acts, 1 figures, all as expected (1.0 s)"
    assert answer_line([good, bad]) == "ANSWER  not as expected: b (3.0 s)"
