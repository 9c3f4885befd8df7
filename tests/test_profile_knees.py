"""Searches of profiles and of the command line."""

import pytest

from profiles_made import SMALL, small
from streamlanes.backends import BACKENDS
from streamlanes.errors import UserError
from streamlanes.plan import FixedPlan
from streamlanes.profile_files import load, parse
from streamlanes.search import MOST_CELLS
from streamlanes.wishes import Wishes

KNEES = (
    SMALL
    + b"""
[[knee]]
backends = ["asyncio", "threads"]
client = "streams"
calls = [500]
bound_ms = 20
set = { ramp_s = 1 }
"""
)


def test_a_profile_may_hold_cells_and_knees():
    profile = parse(KNEES, "small.toml", "small")
    assert profile.expand() == small().expand()
    found = profile.searches()
    assert [(one.cell.backend, one.cell.workload, one.cell.knee_bound_ms) for one in found] == [
        ("asyncio", "steady", 20.0),
        ("threads", "steady", 20.0),
    ]
    ahead = profile.plan().ahead([])
    assert [cell.id for cell in ahead[:6]] == [cell.id for cell in FixedPlan(small().expand(), 3).cells]
    assert len(ahead) == 6 + 2 * MOST_CELLS


def test_a_profile_of_knees_alone_is_one():
    alone = parse(KNEES.partition(b"[[cells]]")[0] + KNEES[KNEES.index(b"[[knee]]") :], "k.toml", "k")
    assert alone.expand() == []
    assert alone.plan().next([]) is not None


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        (b"bound_ms = 20", b"bound_m = 20", "bound_ms"),
        (b"bound_ms = 20", b"bound_ms = 0", "bound_ms is 0"),
        (b"bound_ms = 20", b"bound_ms = 'x'", "knee"),
        (b"bound_ms = 20", b"repeats = 2", "repeats"),
        (b"bound_ms = 20", b"most_cells = 0", "most_cells is 0"),
        (b"bound_ms = 20", b"most_cells = 99", "from 1 to"),
        (b"ramp_s = 1", b"rate_per_s = 1", "rate_per_s cannot be set"),
        (b"calls = [500]", b"calls = []", "names no backend or no size"),
        (b"calls = [500]", b"calls = [500]\nworkload = 'code'", "come and go"),
        (b'"threads"', b'"thread-pool"', "calls in flight"),
    ],
)
def test_a_knee_that_cannot_be_meant_is_refused(old: bytes, new: bytes, word: str):
    head, table = KNEES[: KNEES.index(b"[[knee]]")], KNEES[KNEES.index(b"[[knee]]") :]
    assert old in table
    with pytest.raises(UserError, match=word) as error:
        parse(head + table.replace(old, new), "small.toml", "small").plan()
    assert "\n" not in str(error.value)


def test_the_command_line_seeks_knees_in_place_of_the_matrix():
    wished = Wishes(knee=True, backends=["asyncio", "uvloop"], clients=["streams"], calls=[2000])
    profile = wished.applied(load("quick"))
    assert (profile.name, profile.cells) == ("custom", [])
    assert [one.cell.id for one in profile.searches()] == [
        f"io/{name}/streams/steady/2000/rate_per_s=20000/knee_bound_ms=50/r1"
        for name in ("asyncio", "uvloop")
    ]
    every = Wishes(knee=True).applied(load("quick")).searches()
    assert {one.cell.backend for one in every} == {n for n, info in BACKENDS.items() if not info.bounded}
    swept = Wishes(knee=True, settings={"stack_kib": [256, 512]}, backends=["threads"]).applied(small())
    assert [one.cell.axes.stack_kib for one in swept.searches()] == [256, 512]


def test_what_means_nothing_to_a_knee_is_refused():
    with pytest.raises(UserError, match="--repeats"):
        Wishes(knee=True, repeats=3).applied(small())


def test_another_matrix_drops_the_profiles_knees():
    profile = parse(KNEES, "small.toml", "small")
    assert Wishes(calls=[7]).applied(profile).knee == []
    assert Wishes(repeats=2).applied(profile).knee == profile.knee
    assert Wishes(calls=[7]).applied(parse(KNEES, "k.toml", "k")).name == "custom"
