"""Which version a new execution gets, and how versions stand: pure."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlanes.durable.errors import DurableError
from streamlanes.durable.sqlite import SQLite
from streamlanes.durable.versions import Phase, Versions, point_of, standing

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)


@given(NAMES)
@settings(deadline=None)
def test_every_name_has_a_place_on_the_line(name: str):
    assert 0.0 <= point_of(name) < 1.0


def test_places_are_the_same_in_every_release():
    """They decide what runs where: a change would move thread_ids between versions."""
    assert [round(point_of(name), 6) for name in ("order-17", "order-18", "夜")] == [
        0.447892,
        0.291713,
        0.644918,
    ]


def test_places_are_spread_evenly():
    places = [point_of(f"e{number}") for number in range(4000)]
    tenths = [sum(n / 10 <= place < (n + 1) / 10 for place in places) for n in range(10)]
    assert min(tenths) > 330
    assert max(tenths) < 470


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        ({1: 0.5}, "add up to 0.5"),
        ({1: 0.5, 2: 0.6}, "add up to 1.1"),
        ({}, "add up to 0"),
        ({1: 1.5, 2: -0.5}, "version 1 cannot have a share of 1.5"),
        ({0: 1.0}, "version 0 cannot have"),
        ({2**63: 1.0}, "version 9223372036854775808 cannot have"),
        ({1: float("nan")}, "version 1 cannot have a share of nan"),
    ],
)
def test_shares_that_are_none_are_refused(tmp_path: object, shares: dict[int, float], says: str):
    database = SQLite(tmp_path / "s.db")
    versions = Versions(database)
    with pytest.raises(DurableError, match=says):
        versions.share(shares)
    assert list(versions.standing()) == []
    database.close()


def test_a_share_that_grows_takes_names_only_from_the_other(tmp_path: object):
    database = SQLite(tmp_path / "s.db")
    versions = Versions(database)
    names, before = [f"e{number}" for number in range(200)], set()
    for share in (0.0, 0.1, 0.35, 0.5, 1.0):
        versions.share({1: 1.0 - share, 2: share}).result()
        found = database.read("SELECT starts, ends FROM versions WHERE version = 2", {})
        (starts, ends) = found[0]
        now = {name for name in names if starts <= point_of(name) < ends}
        assert before <= now
        before = now
    assert before == set(names)
    database.close()


def test_three_shares_cover_the_line(tmp_path: object):
    database = SQLite(tmp_path / "s.db")
    Versions(database).share({3: 1 / 3, 1: 1 / 3, 2: 1 / 3}).result()
    rows = database.read("SELECT starts, ends FROM versions ORDER BY version", {})
    assert (rows[0][0], rows[-1][1]) == (0.0, 1.0)
    assert all(one[1] == two[0] for one, two in itertools.pairwise(rows))
    database.close()


CLOSED = (0.0, 0.0, 1000.0)


@pytest.mark.parametrize(
    ("row", "counts", "ended_since", "phase", "drained_s", "left_s", "why"),
    [
        (None, {}, 0, Phase.ACTIVE, None, None, "never drains before its share is 0"),
        ((0.0, 0.5, 0.0), {"open": (3, 0.0)}, 0, Phase.ACTIVE, None, None, "never drains"),
        (CLOSED, {}, 0, Phase.DRAINED, 0.0, None, None),
        (CLOSED, {"done": (5, 900.0)}, 0, Phase.DRAINED, 0.0, None, None),
        (CLOSED, {"done": (5, 1060.0)}, 2, Phase.DRAINED, 60.0, None, None),
        (CLOSED, {"open": (4, 0.0), "done": (5, 1060.0)}, 2, Phase.DRAINING, None, 200.0, None),
        (CLOSED, {"open": (4, 0.0)}, 0, Phase.DRAINING, None, None, "none of its executions has ended"),
        (CLOSED, {"parked": (1, 0.0)}, 9, Phase.DRAINING, None, None, "1 parked for a person: nobody knows"),
        (CLOSED, {"capped": (2, 0.0)}, 9, Phase.DRAINING, None, None, "2 stopped by a cap: nobody knows"),
    ],
)
def test_how_a_version_stands(row, counts, ended_since, phase, drained_s, left_s, why):
    found = standing(1, row, counts, ended_since, 1100.0)
    assert (found.phase, found.drained_s, found.left_s) == (phase, drained_s, left_s)
    assert found.why == why or (why and why in found.why)
