"""The trial behind `streamlanes durable agents`: its runs, its figures, its words, its mistakes."""

import dataclasses
import json

import pytest
from typer.testing import CliRunner

from streamlanes import durable_lines
from streamlanes.agents_trial import Ran, run_all, sizes
from streamlanes.cli import app
from streamlanes.errors import UserError

RAN = Ran(60, 6, 540, 10, 550, 120, 9, 40, 5, 30, True, 0.5, "sqlite-full")


def test_the_task_runs_at_growing_sizes_and_then_in_rooms():
    assert [sum(one) for one in sizes(600, 10)] == [150, 300, 600, 20, 40]
    assert [len(one) for one in sizes(600, 10)] == [15, 30, 60, 1, 1]
    assert sizes(5, 10) == [[5]], "one group: the whole, and no smaller part"
    assert sizes(12, 10) == [[10], [10, 2], [12]]


def test_counts_are_those_of_the_tables_and_exact():
    told: list[Ran] = []
    ran = run_all([[4, 4], [8]], "sqlite", told.append)
    assert told == ran
    assert [(one.chat, one.admin, one.done, one.as_expected) for one in ran] == [
        (24, 2, True, True),
        (56, 0, True, True),
    ]
    assert all(one.largest > 0 and one.wakes >= one.agents and one.commits > 0 for one in ran)
    assert ran[0].threads == ran[1].threads


def test_a_count_that_is_off_is_not_as_expected():
    assert RAN.as_expected
    assert not dataclasses.replace(RAN, chat=541).as_expected
    assert not dataclasses.replace(RAN, done=False).as_expected
    assert RAN.fields()["messages"] == 550


def test_the_words():
    assert durable_lines.agents_line(RAN).split() == "60 6 540 10 9.17 120 9 5 30 done, exact".split()
    wrong = dataclasses.replace(RAN, chat=500, done=False)
    assert "WRONG: 510 of 550 messages, not done" in durable_lines.agents_line(wrong)
    room = dataclasses.replace(RAN, agents=20, groups=1, chat=380, admin=0, expected=380)
    said = "\n".join(durable_lines.agents_answer([RAN, room]))
    assert "60 agents in 6 groups on sqlite-full: 550 messages, 9.17 an agent" in said
    assert "in one room an agent takes 19 with 20; all 60 there would take 3,540 messages" in said
    assert "not as it must be: 1 of 2 runs" in "\n".join(durable_lines.agents_answer([wrong, room]))
    assert durable_lines.agents_answer([room])[1].startswith("ANSWER  20 agents in 1 groups")


def test_the_command_counts_and_its_json_is_the_same():
    done = CliRunner().invoke(app, ["durable", "agents", "--agents", "40", "--group-size", "5", "--json"])
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["agents"], one["groups"], one["messages"]) for one in found] == [
        (10, 2, 42),
        (20, 4, 86),
        (40, 8, 174),
        (10, 1, 90),
        (20, 1, 380),
    ]
    assert {one["durability"] for one in found} == {"sqlite-full"}
    assert all(one["as_expected"] for one in found)
    done = CliRunner().invoke(app, ["durable", "agents", "--agents", "4", "--group-size", "2"])
    assert done.exit_code == 0
    assert "ANSWER  4 agents in 2 groups" in done.stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--group-size", "1"], "600 in groups of 1 make a group of one"),
        (["--agents", "601"], "601 in groups of 10 leave a group of one"),
        (["--store", "sqlit"], "unknown store 'sqlit'; did you mean 'sqlite'?"),
    ],
)
def test_mistakes_are_a_line(words: list[str], line: str):
    done = CliRunner().invoke(app, ["durable", "agents", *words])
    assert isinstance(done.exception, UserError)
    assert line in str(done.exception)
    assert "\n" not in str(done.exception)
