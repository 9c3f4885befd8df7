"""People's own functions in profiles and on the command line: strict, in one line."""

import pytest

from streamlanes.backends import BACKENDS, Waits
from streamlanes.errors import UserError
from streamlanes.lanes import lane
from streamlanes.profile import Profile
from streamlanes.profile_files import parse
from streamlanes.wishes import Wishes

SMALL = b"""
[[cells]]
backends = ["asyncio", "thread-pool"]
client = "timer"
workload = "lesson"
calls = [10]
"""
OWN = b"""
[[cells]]
client = "call"
call = "agent:answer"
workload = "lesson"
calls = [10]
"""


def test_a_function_without_backends_runs_under_all_that_fit():
    profile = parse(OWN, "own.toml", "own")
    assert {cell.backend for cell in profile.expand()} == set(BACKENDS), "as long as its form is not known"
    for waits in Waits:
        cells = profile.expand(waits={"agent:answer": waits})
        assert {cell.backend for cell in cells} == {n for n, info in BACKENDS.items() if info.waits is waits}
        assert {(cell.client, cell.call) for cell in cells} == {("call", "agent:answer")}
    assert "io/asyncio/call/lesson/10/call=agent:answer/r1" in {cell.id for cell in profile.expand()}


def test_backends_that_are_named_stay_and_may_not_fit():
    text = OWN.replace(b"[[cells]]", b'[[cells]]\nbackends = ["threads"]')
    cells = parse(text, "own.toml", "own").expand(waits={"agent:answer": Waits.ASYNC})
    assert [cell.backend for cell in cells] == ["threads"]


def small() -> Profile:
    return parse(SMALL, "small.toml", "small")


def own(**wishes: object) -> set[tuple[str, str | None]]:
    cells = Wishes(calls=[5], backends=["asyncio"], **wishes).applied(small()).expand()
    return {(cell.client, cell.call) for cell in cells}


def test_functions_are_a_client_beside_those_that_are_named():
    assert own(functions=["a:b", "c:d"]) == {("call", "a:b"), ("call", "c:d")}
    assert own(functions=["a:b"], clients=["streams"]) == {("call", "a:b"), ("streams", None)}
    assert own(functions=["a:b"], clients=["call"]) == {("call", "a:b")}
    assert Wishes(functions=["a:b"]).applied(small()).name == "custom"


def test_the_knee_of_a_function_is_sought_where_every_call_is_in_flight():
    profile = Wishes(functions=["a:b"], knee=True).applied(small())
    found = {waits: {one.cell.backend for one in profile.searches(waits={"a:b": waits})} for waits in Waits}
    assert found == {
        waits: {name for name, info in BACKENDS.items() if info.waits is waits and not info.bounded}
        for waits in Waits
    }
    assert {one.cell.call for one in profile.searches()} == {"a:b"}


def test_client_call_stands_for_the_functions_of_the_profile():
    profile = parse(OWN + OWN.replace(b"answer", b"step"), "own.toml", "own")
    cells = Wishes(clients=["call"], backends=["uvloop"]).applied(profile).expand()
    assert [cell.call for cell in cells] == ["agent:answer", "agent:step"]
    assert [cell.call for cell in Wishes(backends=["uvloop"]).applied(profile).expand()] == [
        "agent:answer",
        "agent:step",
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b'call = "agent:answer"\n', b"", ["client call needs a function", "--call module:function"]),
        (b'client = "call"', b'client = "streams"\nbackends = ["asyncio"]', ["needs client call"]),
        (b'client = "call"\ncall = "agent:answer"', b'client = "streams"', ["names no backend"]),
        (b"agent:answer", b"agent", ["'agent'", "module:function"]),
        (b"agent:answer", b"agent.py:answer", ["agent.py", "such as agent:answer"]),
        (b"agent:answer", b"./agent:answer", ["module:function"]),
        (b"agent:answer", b"agent:answer()", ["module:function"]),
        (b"agent:answer", b"agent:a.b", ["module:function"]),
        (b"agent:answer", b":answer", ["module:function"]),
        (b"agent:answer", b"", ["module:function"]),
    ],
)
def test_a_function_that_cannot_be_meant_is_refused(old: bytes, new: bytes, words: list[str]):
    assert old in OWN
    with pytest.raises(UserError) as error:
        parse(OWN.replace(old, new), "own.toml", "own").expand()
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("name", ["agent:answer", "pkg.sub.mod:f", "a1_:_b2", "pkg.pyx:f", "päckchen:öffne"])
def test_dotted_modules_are_functions_names(name: str):
    cells = parse(OWN.replace(b"agent:answer", name.encode()), "own.toml", "own").expand()
    assert {cell.call for cell in cells} == {name}


def test_a_function_in_the_mixed_lane_runs_under_the_lanes_own_backends():
    profile = Wishes(lane="mixed", functions=["a:b"], settings={"load": [0.5]}).applied(small())
    for waits in Waits:
        cells = profile.expand(waits={"a:b": waits})
        assert {cell.backend for cell in cells} == {
            name for name, info in lane("mixed").backends.items() if info.waits is waits
        }
        assert {(cell.lane, cell.client, cell.call) for cell in cells} == {("mixed", "call", "a:b")}
        assert {cell.workload for cell in cells} == {"flow"}


def test_a_lane_without_streams_calls_no_function():
    with pytest.raises(UserError, match="unknown client of lane cpu 'call'"):
        Wishes(lane="cpu", functions=["a:b"]).applied(small()).expand()


def test_api_means_nothing_to_a_function():
    cells = Wishes(functions=["a:b"], backends=["asyncio"], settings={"api": ["anthropic"]}).applied(small())
    assert [(cell.axes.api, cell.api) for cell in cells.expand()] == [(None, None)]
