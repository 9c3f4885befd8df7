"""People's functions asked what they are: in a process, once, and nothing of a folder is told."""

import sys
from pathlib import Path

import pytest

from streamlanes import conduct, targets
from streamlanes.backends import BACKENDS, Waits
from streamlanes.cells import Axes, Cell
from streamlanes.errors import UserError
from streamlanes.hearing import CellEnded
from streamlanes.interpreters import Interpreter
from streamlanes.record import StatusName
from streamlanes.targets import Target, find, understood

OWN = Interpreter(path=sys.executable, name="cpython-3.77.1")
BROKEN = Interpreter(path="/nowhere", name="cpython-3.10.1", problem="too old")


def cell(call: str, backend: str = "asyncio", python: str | None = None) -> Cell:
    return Cell(
        lane="io",
        backend=backend,
        client="call",
        call=call,
        workload="lesson",
        calls=5,
        axes=Axes(python=python),
    )


@pytest.mark.parametrize(
    ("form", "waits"),
    [
        ("async generator", Waits.ASYNC),
        ("async function", Waits.ASYNC),
        ("generator", Waits.BLOCKING),
        ("function", Waits.BLOCKING),
    ],
)
def test_a_form_says_which_backends_fit(form: str, waits: Waits):
    found = understood("agent:answer", {"form": form, "source": "12ab"})
    assert (found.waits, found.source, found.problem) == (waits, "12ab", None)
    for name, info in BACKENDS.items():
        reason = found.forbids(name)
        assert (reason is None) == (info.waits is waits)
        if reason is not None:
            assert f"agent:answer is {'an' if waits is Waits.ASYNC else 'a plain'} {form}" in reason
            assert f"which {name} cannot run" in reason
            fitting = reason.partition("it fits ")[2].split(", ")
            assert [BACKENDS[each].waits for each in fitting] == [waits] * len(fitting)


@pytest.mark.parametrize(
    "answer", [{}, {"form": "poem"}, {"problem": "ImportError: /secret/agent.py\nis odd"}]
)
def test_any_other_answer_is_a_problem_in_one_line_without_a_folder(answer: dict[str, str]):
    found = understood("agent:answer", answer)
    assert found.waits is None
    assert found.problem is not None
    assert "PYTHONPATH" in found.problem
    assert "secret" not in found.problem
    assert "\n" not in found.problem
    assert found.forbids("asyncio") == f"agent:answer: {found.problem}"


def test_each_function_is_asked_once_and_prints_nothing_into_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "agent.py").write_text(
        "open('asked', 'a').write('x')\n"
        'print(\'{"form": "function"}\')\n'
        "import threading; threading.Thread(target=threading.Event().wait).start()\n"
        "async def answer(base_url, prompt): yield ''\n"
    )
    monkeypatch.chdir(tmp_path)
    found = find([("agent:answer", None), ("agent:answer", None)], {})
    assert [target.form for target in found.values()] == ["async generator"]
    assert (tmp_path / "asked").read_text() == "x"


def test_a_function_that_is_nowhere_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "agent.py").write_text("import os; os._exit(7)")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"call agent:answer: .*ended the process.*exited with 7"):
        find([("agent:answer", None)], {})
    with pytest.raises(UserError, match="No module named 'agnt'") as error:
        find([("agnt:answer", None), ("agnt:answer", OWN.name)], {OWN.name: OWN})
    assert "\n" not in str(error.value)


def test_one_that_takes_too_long_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "agent.py").write_text("import time; time.sleep(600)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(targets, "ANSWER_S", 0.5)
    with pytest.raises(UserError, match="took longer"):
        find([("agent:answer", None)], {})


def test_an_interpreter_with_a_problem_is_not_asked():
    assert find([("agent:answer", BROKEN.name)], {BROKEN.name: BROKEN}) == {}
    assert find([], {}) == {}


def test_a_backend_that_does_not_fit_is_unsupported_before_it_is_tried():
    functions = {("agent:answer", None): Target(name="agent:answer", form="async generator")}
    conduct.forbid(cell("agent:answer"), {}, functions)
    with pytest.raises(CellEnded, match="which threads cannot run") as ended:
        conduct.forbid(cell("agent:answer", "threads"), {}, functions)
    assert ended.value.status.name is StatusName.UNSUPPORTED


def test_the_interpreters_own_problem_comes_first():
    with pytest.raises(CellEnded, match="too old"):
        conduct.forbid(cell("agent:answer", python=BROKEN.name), {BROKEN.name: BROKEN}, {})
