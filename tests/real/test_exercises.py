"""Every command of the exercises' page, run as it stands there, in its order and in one folder."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commands import left_behind, run
from streamlanes.demo.acts import ACTS

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "exercises.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\$ (.+)$", PAGE, re.MULTILINE)
PLAYED = [line for line in LINES if line.startswith("streamlanes durable demo ")]
EXAMPLES = ("own_approval.py", "own_rollback.py")

APPROVE = 'streamlanes durable approve order-17/1/0 --by Ada --note "as agreed"'
WORKED = [
    (
        "streamlanes durable chaos --scenario approval --kills 2",
        "2 kills on sqlite-full: 0 lost, 0 duplicated",
    ),
    ("python own_approval.py order-17", "it waits for a person, request order-17/1/0"),
    ("streamlanes durable pending", '1  {"pay": 120}'),
    (APPROVE, "approved order-17/1/0 (as agreed)"),
    ("python own_approval.py order-17", "{'approved': True, 'answer': 'paid 120 under order-17/1/1'}"),
    (
        "streamlanes durable cap --tokens 2000000 --usd 50",
        "940  0.01             -  2,000,000 tokens and 50.00 USD",
    ),
    ("streamlanes durable effects -n 20", "2 ways made every effect once, keys on sqlite-full; 4 wrong ones"),
    (
        "python own_rollback.py",
        "published '404' as page-1/0/0/1\nwithdrew '404' of page-1/0/0/1\n"
        "published 'hello' as page-1/0/0/2\npage-1/0/0/2 {'page-1/0/0/2': 'hello'}",
    ),
    ("streamlanes durable chaos --scenario rainbow --kills 2", "0 wrong version"),
    ("streamlanes durable versions", "version 1 gets all new executions"),
    ("streamlanes durable versions --share 1=0.5,2=0.5", "a permanent split: versions 1 (50%), 2 (50%)"),
    ("streamlanes durable versions --share 2=1", "version 1 is drained: its workers can go"),
    (
        "streamlanes durable agents --agents 40 --group-size 5",
        "ANSWER  40 agents in 8 groups on sqlite-full: 174 messages",
    ),
]
"""The page's commands and a part of each answer."""


def carried_out(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """A line of the page, as a shell would split it."""
    program, *words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]
    if program == "streamlanes":
        return run(*words, cwd=folder)
    assert program == "python"
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_every_exercise_has_a_command_or_says_that_it_asks_for_a_judgement():
    _, *parts = re.split(r"^### (\d+)\. ", PAGE, flags=re.MULTILINE)
    exercises = dict(zip(parts[::2], parts[1::2], strict=True))
    assert list(exercises) == [str(number) for number in range(1, 16)]
    *bare, last = [number for number, text in exercises.items() if "\n$ " not in text]
    assert f"Exercises {', '.join(bare)} and {last} ask for a judgement" in PAGE


def test_the_commands_come_to_what_the_page_says(tmp_path: Path):
    for name in EXAMPLES:
        shutil.copy(DOCS / "examples" / name, tmp_path)
    assert [line for line in LINES if line not in PLAYED] == [line for line, _ in WORKED]
    for line, answer in WORKED:
        done = carried_out(line, tmp_path)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        assert answer in done.stdout, line
    assert left_behind(tmp_path) == []


WHOLE = re.compile(r"streamlanes durable demo --act (\w+)")
"""An act as it comes: all of them are played by tests/real/test_demo.py."""


@pytest.mark.parametrize("line", [line for line in PLAYED if WHOLE.fullmatch(line)])
def test_the_acts_of_the_page_are_those_that_are_played(line: str):
    found = WHOLE.fullmatch(line)
    assert found is not None
    assert found[1] in ACTS


@pytest.mark.parametrize("line", [line for line in PLAYED if not WHOLE.fullmatch(line)])
def test_the_acts_come_to_what_they_predict(tmp_path: Path, line: str):
    done = carried_out(line, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all as expected" in done.stdout
