"""The words of chaos and effects."""

from dataclasses import replace

import typer

from streamlanes import durable_cli, durable_lines
from streamlanes.chaos.cells import CellsKilled
from streamlanes.chaos.plan import Control, Counts, How, Kill, Recovery, Scenario, Trial, Verdict
from streamlanes.durable.points import Point
from streamlanes.effects_trial import Foreign, Sent

RECOVERY = Recovery(350.0, 0.875, 100.0, 20.0, 30.0, 500.0)


def trial(how: How = How.KILL, counts: Counts | None = None, **more: object) -> Trial:
    kill = Kill(0, Point.IN_COMMIT, how, 3, "sqlite")
    more = {"durability": "sqlite-full", **more}
    return Trial(kill, True, counts or Counts(redone=2), RECOVERY, **more)


def test_a_kill_is_a_line():
    assert (
        durable_lines.trial_line(trial(), 1, 30)
        == "[1/30] sqlite/SIGKILL/in-commit passage 3  clean  redone 2"
    )
    wrong = durable_lines.trial_line(trial(counts=Counts(lost=1, duplicated=2)), 2, 30)
    assert "WRONG: 1 lost, 2 duplicated, 0 false done, 0 unfinished" in wrong
    missed = Trial(trial().kill, False, Counts(), None)
    assert "not struck" in durable_lines.trial_line(missed, 3, 30)


def test_the_verdict_has_counts_recovery_controls_and_what_was_not_tested():
    controls = [Control("python-list", "a list", ("lost",), Counts(lost=5))]
    said = "\n".join(durable_lines.verdict_lines(Verdict([trial(), trial(How.STOP)], controls)))
    assert "in-commit        1        1     0           0           0           0       4" in said
    assert "sqlite, medians of 1: detection 350 ms (88% of the lease), start 100 ms" in said
    assert "python-list     5           0       0           0  as it must  a list" in said
    assert "2 kills on sqlite-full: 0 lost, 0 duplicated, 0 false done, 0 unfinished; 4 steps redone" in said
    assert "a process crash is not a power loss" in said
    blunt = [Control("python-list", "a list", ("lost",), Counts())]
    said = "\n".join(durable_lines.verdict_lines(Verdict([trial()], blunt)))
    assert "NOT AS IT MUST" in said
    assert "controls that did not show what they must: python-list" in said
    missed = [Trial(trial().kill, False, Counts(), None)] * 3
    said = "\n".join(durable_lines.verdict_lines(Verdict([trial(How.STOP), *missed], [], wanted=9)))
    assert "; only 1 of 9 kills struck, in 4 trials" in said
    nobody = durable_lines.verdict_lines(Verdict(missed, [], wanted=0))[-2]
    assert nobody.endswith("; no worker ever passed sqlite/steps/in-commit")


def test_no_recovery_is_said_and_not_zero():
    bare = Trial(trial().kill, True, Counts(), Recovery(None, None, 100.0, None, None, None))
    said = "\n".join(durable_lines.verdict_lines(Verdict([bare], [])))
    assert "no worker held a lease when it was killed" in said
    assert "slowest" not in said


def test_the_longest_standstill_is_shown_where_it_was():
    longer = replace(trial(How.STOP), recovery=replace(RECOVERY, stood_ms=5300.0))
    said = durable_lines.verdict_lines(Verdict([trial(), longer, trial()], []))
    assert "RECOVERY  sqlite, slowest of 3: 5300 ms, SIGSTOP at in-commit passage 3" in said


def sent(name: str, wrong: bool, effects: int) -> Sent:
    return Sent(name, "how", wrong, 10, 10, effects, effects - 10, 0, "sqlite-full")


def test_senders_are_judged_both_ways():
    good = durable_lines.sent_lines([sent("guarded", False, 10), sent("no-key", True, 20)])
    assert "1 ways made every effect once, keys on sqlite-full; 1 wrong ones were found out" in good[-1]
    bad = durable_lines.sent_lines([sent("guarded", False, 11), sent("no-key", True, 10)])
    assert "not as it must be: guarded, no-key" in bad[-1]
    assert "WRONG" in "\n".join(bad)
    assert "NOT FOUND OUT" in "\n".join(bad)


def test_an_endpoint_without_a_ledger_is_unknown_and_not_clean():
    said = durable_lines.foreign_lines(Foreign("http://x", 10, 10, 3, None, "no ledger was named"))
    assert "unknown: no ledger was named" in said[1]
    assert "3 keys" in said[2]
    said = durable_lines.foreign_lines(Foreign("http://x", 10, 10, 3, 7, None))
    assert "7 effects beyond one" in said[1]


def test_killed_runs_are_a_line():
    found = CellsKilled(wanted=10, kills=10, runs=3, cells=6, repeated=0, lost=0)
    assert found.passed
    assert not CellsKilled(10, 10, 3, 5, 0, 1).passed
    (line,) = durable_lines.cells_lines(found)
    assert "10 kills of `streamlanes run`, 3 runs of it finished: 6 cells, 0 repeated, 0 lost" in line
    few = CellsKilled(10, 9, 50, 100, 0, 0, last_words="no such profile")
    assert not few.passed
    (line,) = durable_lines.cells_lines(few)
    assert line.endswith("; 10 kills were wanted, but runs ended before: no such profile")


def test_the_help_of_chaos_names_every_scenario():
    chaos = typer.main.get_command(durable_cli.app).commands["chaos"]
    (option,) = [each for each in chaos.params if each.name == "scenario"]
    assert option.help == f"What workers do: {', '.join(Scenario)}, by comma."


def test_scenarios_are_named_and_their_own_counts_shown():
    kill = Kill(0, Point.AFTER_PARK, How.KILL, 3, "sqlite", Scenario.APPROVAL)
    asked = Trial(kill, True, Counts(asked_again=1), RECOVERY, durability="sqlite-full")
    line = durable_lines.trial_line(asked, 1, 30)
    assert "sqlite/SIGKILL/approval/after-park passage 3" in line
    assert "WRONG: 0 lost, 0 duplicated, 0 false done, 0 unfinished, 1 asked again" in line
    controls = [Control("approval-in-memory", "in memory", ("asked_again",), Counts(asked_again=3))]
    said = "\n".join(durable_lines.verdict_lines(Verdict([asked], controls)))
    assert "approval/after-park" in said
    assert (
        "1 kills on sqlite-full: 0 lost, 0 duplicated, 0 false done, 0 unfinished, 1 asked again, 0 una"
        in said
    )
    assert "wrong version" not in said, "no rainbow was killed"
