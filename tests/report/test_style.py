"""Every backend looks like itself and like no other, also in grey."""

from itertools import combinations

import pytest

from streamlanes.backends import BACKENDS
from streamlanes.offload import OFFLOADS
from streamlanes.record import StatusName
from streamlanes.report import style
from streamlanes.report.style import LOOKS, STOPPED_MARKS, lightness, look, shade
from streamlanes.series import Line

SIX = ("asyncio", "uvloop", "threads", "processes+asyncio", "processes+uvloop", "processes+threads")


def test_every_backend_of_the_registry_has_a_look() -> None:
    assert set(LOOKS) == set(BACKENDS)


@pytest.mark.parametrize("part", ["colour", "marker", "dashes"])
def test_no_two_backends_share_a_colour_a_marker_or_dashes(part: str) -> None:
    assert len({getattr(one, part) for one in LOOKS.values()}) == len(LOOKS)


def test_the_six_of_the_first_chart_stay_apart_in_grey() -> None:
    for one, other in combinations(SIX, 2):
        assert abs(lightness(LOOKS[one].colour) - lightness(LOOKS[other].colour)) >= 8, (one, other)


def test_every_colour_can_be_seen_on_white() -> None:
    assert max(lightness(one.colour) for one in LOOKS.values()) <= 72


def test_lightness_runs_from_black_to_white() -> None:
    assert lightness("#000000") == pytest.approx(0)
    assert lightness("#ffffff") == pytest.approx(100)


def test_an_unknown_backend_always_looks_the_same_and_like_none_that_is_known() -> None:
    assert look(Line("gevent")) == look(Line("gevent"))
    assert look(Line("gevent")).marker not in {one.marker for one in LOOKS.values()}


def test_a_variant_keeps_colour_and_marker() -> None:
    plain, variant = look(Line("threads")), look(Line("threads", (("stack_kib", "256"),)))
    assert (variant.colour, variant.marker) == (plain.colour, plain.marker)


def test_the_ways_of_cpu_work_look_apart_whatever_the_backend() -> None:
    ways = [look(Line("asyncio", (("kernel", "tokenize"), ("offload", name)))) for name in OFFLOADS]
    assert len({one.colour for one in ways}) == len({one.marker for one in ways}) == len(OFFLOADS)
    for one, other in combinations(ways[:3], 2):
        assert abs(lightness(one.colour) - lightness(other.colour)) >= 5
    assert set(style.OFFLOADS) == set(OFFLOADS)


def test_a_store_looks_the_same_under_every_backend_and_paler_without_group_commit() -> None:
    shared = [look(Line(backend, (("store", "sqlite-full"),))) for backend in ("asyncio", "threads")]
    assert shared[0] == shared[1] == style.STORES["sqlite-full"]
    alone = look(Line("asyncio", (("group_commit", "off"), ("store", "sqlite-full"))))
    assert alone.marker == shared[0].marker
    assert lightness(alone.colour) > lightness(shared[0].colour)
    assert alone.dashes != shared[0].dashes


def test_every_way_to_be_stopped_has_a_mark_that_no_backend_has() -> None:
    assert set(STOPPED_MARKS) == set(StatusName) - {StatusName.OK}
    assert not set(STOPPED_MARKS.values()) & {one.marker for one in LOOKS.values()}


def test_shades_go_to_white() -> None:
    assert shade("#1f5fbf", 1.0) == "#1f5fbf"
    assert shade("#1f5fbf", 0.0) == "#ffffff"
