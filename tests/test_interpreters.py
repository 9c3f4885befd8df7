"""Interpreters named by path: what is said of each, and that no path gets where records are made."""

import json
import os
import stat
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlanes import conduct, interpreters
from streamlanes.axis_values import parse_setting
from streamlanes.backends import default_width
from streamlanes.cells import Axes, Cell
from streamlanes.errors import UserError
from streamlanes.hearing import CellEnded
from streamlanes.interpreters import (
    Interpreter,
    find,
    legend,
    named,
    own_name,
    release,
    told_apart,
    understood,
    version,
    without_folders,
)
from streamlanes.profile import CellsTable, Profile
from streamlanes.profile_files import load
from streamlanes.record import StatusName
from streamlanes.wishes import Wishes

# A version nobody has: with the tests' own it would be told apart by a hash.
ANSWER = {
    "implementation": "CPython",
    "version": "3.77.1",
    "free_threaded": False,
    "build": "3.77.1 (main) [GCC 12]",
    "identity": "/opt/a/bin/python3.77\n/opt/a",
    "lacks": {"uvloop": "ModuleNotFoundError"},
}


def executable(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def cell(python: str | None, backend: str = "asyncio") -> Cell:
    return Cell(
        lane="io",
        backend=backend,
        client="timer",
        workload="lesson",
        calls=5,
        axes=Axes(python=python),
    )


# What an interpreter says


def test_a_name_holds_implementation_and_version_and_nothing_else():
    found = understood("/opt/a/bin/python", ANSWER)
    assert (found.name, found.problem) == ("cpython-3.77.1", None)
    assert version(found.name) == "3.77.1"
    assert release(found.name) == (3, 77)
    assert named("CPython", "3.13.0", True) == "cpython-3.13.0t"
    assert version(named("PyPy", "3.11.9", False)) == "pypy-3.11.9"
    assert release("unknown-12ab56") is None


@pytest.mark.parametrize("old", ["2.7.18", "3.9.18", "3.10.13"])
def test_one_that_is_too_old_says_which_it_is_and_what_to_do(old: str):
    problem = understood("/opt/python", {**ANSWER, "version": old}).problem
    assert problem is not None
    assert f"CPython {old} is too old, 3.11 or newer" in problem
    assert "--set python=" in problem


def test_the_oldest_that_is_supported_is_supported():
    assert understood("/opt/python", {**ANSWER, "version": "3.11.0"}).problem is None
    assert understood("/opt/python", {**ANSWER, "version": "4.0.0"}).problem is None


def test_a_missing_library_forbids_the_cells_that_need_it_and_no_other():
    found = understood("/opt/python", ANSWER)
    reason = found.forbids(["uvloop"])
    assert reason is not None
    assert "uvloop cannot be imported under cpython-3.77.1 (ModuleNotFoundError)" in reason
    assert "pip install uvloop" in reason
    assert found.forbids(["json", "uvloop"]) == reason
    assert found.forbids([]) is None
    assert understood("/opt/python", {**ANSWER, "lacks": {}}).forbids(["uvloop"]) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    json_values
    | st.fixed_dictionaries({name: json_values | st.just(value) for name, value in ANSWER.items()})
)
def test_whatever_was_answered_is_an_interpreter_or_a_problem(answer: object):
    found = understood("/secret/python", answer)
    assert found.problem is not None or (release(found.name) or (0, 0)) >= (3, 11)
    assert "/secret" not in found.name + (found.problem or "")


# Names side by side


def test_two_installations_of_one_version_are_told_apart_the_same_way_each_time():
    a = understood("/opt/a/python", ANSWER)
    b = understood("/opt/b/python", {**ANSWER, "identity": "/opt/b/bin/python3.77\n/opt/b"})
    link = understood("/usr/bin/python", ANSWER)
    other = understood("/opt/c/python", {**ANSWER, "version": "3.78.0"})
    names = {k: i.name for k, i in told_apart({"a": a, "b": b, "link": link, "c": other}).items()}
    assert names["a"] == names["link"] != names["b"]
    assert all(names[each].startswith("cpython-3.77.1-") and len(names[each]) == 21 for each in "ab")
    assert names["c"] == "cpython-3.78.0"
    assert told_apart({"b": b, "a": a})["a"].name == names["a"]
    assert told_apart({"a": a, "link": link})["a"].name == "cpython-3.77.1"
    assert release(names["a"]) == (3, 77)


def test_another_installation_of_our_own_version_is_not_taken_for_ours():
    implementation, text = own_name().split("-")
    other = {**ANSWER, "implementation": implementation, "version": text.rstrip("t")}
    other["free_threaded"] = text.endswith("t")
    assert told_apart({"x": understood("/x", other)})["x"].name.startswith(f"{own_name()}-")


# Asked for real


def test_this_interpreter_is_found_by_path_and_is_our_own():
    found = find([sys.executable])[sys.executable]
    assert (found.name, found.problem) == (own_name(), None)
    assert found.lacks == {}, "the tests' own interpreter has all that backends need"
    assert found.build == " ".join(sys.version.split())


def test_a_command_is_looked_for_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    answer = json.dumps(ANSWER)
    executable(tmp_path / "mypython", f"#!/bin/sh\necho '{answer}'\n".replace("\\n", "\\\\n"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = find(["mypython"])["mypython"]
    assert (found.name, found.path) == ("cpython-3.77.1", str(tmp_path / "mypython"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "is not there or cannot be executed"),
        ("no program at all", "does not start"),
        ("#!/bin/sh\necho broken: /opt/lib/libpython.so is missing >&2\nexit 3\n", "broken: libpython.so is"),
        ("#!/bin/sh\necho Hello, I am no Python\n", "no interpreter answered"),
        ("#!/bin/sh\necho []\n", "is no Python interpreter"),
        ("#!/bin/sh\nkill -9 $$\n", "SIGKILL"),
        ("#!/bin/sh\nsleep 600 & sleep 600\n", "gave no answer in 0 s"),
    ],
)
def test_what_does_not_answer_is_a_problem_without_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, says: str
):
    if "sleep" in (text or ""):
        monkeypatch.setattr(interpreters, "ANSWER_S", 0.2)
    path = str(tmp_path / "python9") if text is None else executable(tmp_path / "python9", text)
    found = find([path])[path]
    assert found.problem is not None
    assert says in found.problem
    assert "--set python=" in found.problem
    assert found.name.startswith("unknown-")
    assert str(tmp_path) not in found.problem + found.name
    assert legend({path: found}) == f"{found.name} = {path}"


def test_an_interpreter_is_asked_once_however_often_it_is_written(tmp_path: Path):
    log = tmp_path / "log"
    path = executable(tmp_path / "python9", f"#!/bin/sh\necho asked >>{log}\necho []\n")
    found = find([path, f"{tmp_path}/../{tmp_path.name}/python9"])
    assert log.read_text() == "asked\n"
    assert len({each.name for each in found.values()}) == 1


def test_none_asked_for_starts_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interpreters, "Launcher", None)
    assert find([]) == {}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("/usr/bin/python: error in /opt/x y", "python: error in x y"),
        ("'/a/b.py' line 3/4, and/or", "'b.py' line 3/4, and/or"),
        ("nothing", "nothing"),
    ],
)
def test_absolute_paths_are_cut_to_their_last_name(text: str, kept: str):
    assert without_folders(text) == kept


# From a profile to cells


def wished(*settings: str) -> Profile:
    chosen = dict(map(parse_setting, settings))
    return Wishes(backends=["asyncio"], clients=["timer"], calls=[5], settings=chosen).applied(load("quick"))


def test_a_path_is_text_whatever_it_looks_like():
    assert wished("python=~/py~thon,3.12").pythons() == ["~/py~thon", "3.12"]


def test_cells_carry_the_name_and_the_path_nowhere():
    profile = wished("python=/secret/python3.12,/secret/python3.13")
    names = {"/secret/python3.12": "cpython-3.12.1", "/secret/python3.13": "cpython-3.13.0"}
    cells = profile.expand(names)
    assert [each.axes.python for each in cells] == ["cpython-3.12.1", "cpython-3.13.0"]
    assert cells[0].id == "io/asyncio/timer/steady/5/python=cpython-3.12.1/r1"
    assert b"secret" not in msgspec.json.encode(cells)


def test_two_ways_to_one_interpreter_are_one_cell():
    cells = wished("python=/a,/b").expand({"/a": "cpython-3.12.1", "/b": "cpython-3.12.1"})
    assert len(cells) == 1


def test_a_profile_may_say_it_everywhere():
    table = CellsTable(
        backends=["asyncio"], client="timer", workload="steady", calls=[5], sweep={"python": ["/a", "/b"]}
    )
    other = msgspec.structs.replace(table, sweep={}, set={"python": "/c"})
    assert Profile(cells=[table, other], workload={"python": "/d"}).pythons() == ["/d", "/c", "/a", "/b"]


@pytest.mark.parametrize("wrong", [3.12, 3, "", None, ["/a"], {"path": "/a"}])
def test_what_is_no_text_is_one_line(wrong: object):
    table = CellsTable(
        backends=["asyncio"], client="timer", workload="steady", calls=[5], set={"python": wrong}
    )
    with pytest.raises(UserError, match="path or command"):
        Profile(cells=[table]).pythons()


def test_the_record_says_the_version_with_and_without_the_axis():
    def axis(python: str | None) -> object:
        from streamlanes.recording import info

        return info(cell(python), {}).axes["python"]

    assert axis("cpython-3.12.1") == "3.12.1"
    assert axis("cpython-3.12.1-12ab56") == "3.12.1-12ab56"
    assert axis(None) == version(own_name())


def test_a_pool_without_a_width_has_the_one_its_own_interpreter_would_take(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("os.cpu_count", lambda: 12)
    monkeypatch.setattr("streamlanes.backends.cpus", lambda: 3)
    assert cell("cpython-3.12.1", "thread-pool").width == 16
    assert cell("cpython-3.13.0", "thread-pool").width == 7
    assert cell("cpython-3.13.0", "process-pool").width == 3
    assert cell("unknown-12ab56", "thread-pool").width == default_width("thread-pool")


def test_a_cell_whose_interpreter_cannot_run_it_is_unsupported_before_it_is_tried():
    found = {
        "cpython-3.10.13": Interpreter(path="/x", name="cpython-3.10.13", problem="too old; name another"),
        "cpython-3.12.1": understood("/y", ANSWER),
    }
    for python, backend, why in (
        ("cpython-3.10.13", "asyncio", "too old; name another"),
        ("cpython-3.12.1", "uvloop", "uvloop cannot be imported"),
    ):
        with pytest.raises(CellEnded, match=why) as ended:
            conduct.forbid(cell(python, backend), found)
        assert ended.value.status.name is StatusName.UNSUPPORTED
    conduct.forbid(cell("cpython-3.12.1"), found)
