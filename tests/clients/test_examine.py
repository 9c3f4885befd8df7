"""What a person's function is said to be, and what is said of one that cannot be called."""

from pathlib import Path

import pytest

from somebody import write
from streamlanes.clients.examine import examined

MODULE = """
import functools
async def a_generator(url, prompt): yield ""
async def a_function(url, prompt): return ""
def generator(url, prompt): yield ""
def function(url, prompt, more=None): return ""
@functools.wraps(a_generator)
def wrapped(*given): return a_generator(*given)
partial = functools.partial(a_function, prompt="x")
keyed = functools.partial(a_generator)
class Agent:
    async def __call__(self, url, prompt): yield ""
    async def method(self, url, prompt): return ""
an_object = Agent()
bound = an_object.method
def one(url): pass
def three(url, prompt, model): pass
def named(*, url, prompt): pass
number = 7
built_in = print
"""


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a_generator", "async generator"),
        ("a_function", "async function"),
        ("generator", "generator"),
        ("function", "function"),
        ("wrapped", "async generator"),
        ("keyed", "async generator"),
        ("an_object", "async generator"),
        ("bound", "async function"),
        ("built_in", "function"),
    ],
)
def test_forms_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, form: str):
    write(tmp_path, MODULE, monkeypatch)
    found = examined(f"somebody:{name}")
    assert found["form"] == form
    assert len(found["source"]) == 16


def test_another_text_is_another_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sources = set()
    for text in (MODULE, MODULE + "\n# edited"):
        write(tmp_path, text, monkeypatch)
        sources.add(examined("somebody:function")["source"])
    assert len(sources) == 2


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("somebody:generatr", "its module has no 'generatr'; did you mean 'generator'?"),
        ("somebody:zzz", "its module has no 'zzz'"),
        ("somebody:one", "it takes (url); it must take a base URL and a prompt"),
        ("somebody:three", "it takes (url, prompt, model)"),
        ("somebody:named", "it takes (*, url, prompt)"),
        ("somebody:partial", "it must take a base URL and a prompt"),
        ("somebody:number", "it is int and cannot be called"),
        ("nobody_at_all:answer", "ModuleNotFoundError: No module named 'nobody_at_all'"),
        ("somebody.deeper:answer", "ModuleNotFoundError: No module named 'somebody.deeper'"),
    ],
)
def test_what_cannot_be_called_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, says: str
):
    write(tmp_path, MODULE, monkeypatch)
    found = examined(target)
    assert says in found["problem"]
    assert "form" not in found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise ValueError('no key set')", "ValueError: no key set"),
        ("import sys; sys.exit('usage: ...')", "SystemExit: usage: ..."),
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("def answer(:", "SyntaxError"),
        ("import os; os.no_such_thing", "AttributeError: module 'os' has no attribute 'no_such_thing'"),
        ("class Box: pass\nBox.answer", "AttributeError: type object 'Box' has no attribute 'answer'"),
    ],
)
def test_a_module_that_fails_when_it_is_imported_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
):
    write(tmp_path, text, monkeypatch)
    assert says in examined("somebody:answer")["problem"]
