"""The words of approvals, versions and caps."""

import pytest

from streamlanes import operate_lines
from streamlanes.durable.caps import STORE, Cap
from streamlanes.durable.people import Request, Status
from streamlanes.durable.versions import Phase, Standing


def request(number: int = 1, proposal: object = "a book", note: str = "") -> Request:
    return Request("a/0/0", "a", "a/0/0", number, proposal, Status.PENDING, "", note, 100.0, 0.0, 0)


def standing(version: int, share: float, phase: Phase, **more: object) -> Standing:
    figures = {"open": 0, "parked": 0, "capped": 0, "done": 0, "drained_s": None, "left_s": None, "why": None}
    return Standing(version, share, phase, **{**figures, **more})


def test_what_waits_is_listed_with_how_long():
    said = "\n".join(operate_lines.pending_lines([request(), request(2)], 100.0 + 7200.0))
    assert 'a/0/0    a            2 h      1  "a book"' in said
    assert "2 wait; decide with `streamlanes durable approve REQUEST`, or reject" in said
    assert "1 asked again: their worker ended after an approval was taken up" in said
    assert operate_lines.pending_lines([], 0.0) == ["nothing waits for a person"]


def test_a_proposal_is_one_line_that_a_terminal_does_not_act_on():
    long = operate_lines.proposal(request(proposal={"text": "\x1b[2J\n" + "x" * 500}))
    assert len(long) == 80
    assert long.endswith("...")
    assert long.isprintable()


def test_a_decision_says_what_becomes_of_the_execution():
    rejected = Request("a/0/0", "a", "a/0/0", 1, None, Status.REJECTED, "Ada", "no\x07", 1.0, 2.0, 0)
    said = operate_lines.decided_line(rejected)
    assert said == "rejected a/0/0 (no?): execution a is told so as soon as a worker claims it"


def test_a_permanent_split_is_said_to_never_drain():
    both = [
        standing(1, 0.9, Phase.ACTIVE, open=3, why="it gets new executions"),
        standing(2, 0.1, Phase.ACTIVE),
    ]
    said = operate_lines.version_lines(both)[-1]
    assert "a permanent split: versions 1 (90%), 2 (10%) all get new executions" in said
    assert "none of them ever drains; give the old one a share of 0" in said


def test_versions_that_drain_say_how_long():
    said = "\n".join(
        operate_lines.version_lines(
            [
                standing(1, 0.0, Phase.DRAINED, done=9, drained_s=90.0),
                standing(2, 0.0, Phase.DRAINING, open=4, left_s=7200.0),
                standing(3, 0.0, Phase.DRAINING, parked=1, why="1 parked for a person: nobody knows"),
                standing(4, 1.0, Phase.ACTIVE, open=12),
            ]
        )
    )
    assert "drained in 1.5 min" in said
    assert "about 2 h at the rate so far" in said
    assert "1 parked for a person: nobody knows" in said
    assert "version 4 gets all new executions; version 2 drains, 4 executions left" in said
    assert "version 1 is drained: its workers can go" in said
    assert operate_lines.version_lines([]) == ["no executions, and no shares were set"]


def test_caps_say_what_was_spent_and_which_is_reached():
    said = operate_lines.cap_lines([Cap(STORE, 1000, None, 1200, 3.5, 2), Cap("a", None, 5.0, 10, 0.25)])
    assert "cost unknown" in said[0]
    assert [line.split() for line in said[1:]] == [
        ["the", "store", "1,200", "3.50", "2", "attempts", "1,000", "tokens", "REACHED:", "stopped"],
        ["a", "10", "0.25", "-", "5.00", "USD"],
    ]
    assert operate_lines.cap_lines([]) == ["no cap is set"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0, "0 s"), (-5.0, "0 s"), (59.0, "59 s"), (90.0, "1.5 min"), (86_400.0 * 3, "3 d")],
)
def test_a_wait_is_said_in_the_unit_that_fits(seconds: float, said: str):
    assert operate_lines.duration(seconds) == said
