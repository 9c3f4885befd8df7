"""The profile `full` is what it is said to be: what people quote, within three quarters of an hour."""

from typing import Any

import pytest

from streamlanes.backends import BACKENDS
from streamlanes.cells import Cell
from streamlanes.estimate import total_seconds
from streamlanes.profile_files import load

FULL = load("full")
CELLS = FULL.expand()
SIZES = {500, 1000, 2000, 5000, 10_000}


def standard(**more: object) -> list[Cell]:
    """Cells of the standard library's client under `steady` that ask for these axes and no others."""
    return [
        cell
        for cell in CELLS
        if (cell.client, cell.workload) == ("streams", "steady") and cell.axes.set_values() == more
    ]


@pytest.mark.parametrize("backend", ["asyncio", "uvloop", "threads", "processes+uvloop"])
def test_those_that_compete_have_five_sizes_and_three_repetitions(backend: str):
    found = [(cell.calls, cell.repetition) for cell in standard() if cell.backend == backend]
    assert sorted(found) == [(calls, repetition) for calls in sorted(SIZES) for repetition in (1, 2, 3)]


def test_the_others_are_measured_once_from_the_smallest_to_the_largest():
    others = [cell for cell in standard() if cell.backend in ("processes+asyncio", "processes+threads")]
    assert {cell.calls for cell in others} == {500, 2000, 10_000}
    assert {cell.repetition for cell in CELLS if cell not in standard() or cell in others} == {1}


@pytest.mark.parametrize(
    ("axis", "values", "backends"),
    [
        ("workers", {1, 2, 4}, {"processes+uvloop", "processes+threads"}),
        ("start_method", {"fork", "forkserver", "spawn"}, {"processes+uvloop"}),
        ("stack_kib", {256, 1024, 8192}, {"threads"}),
        ("switch_ms", {100}, {"threads"}),
        ("gc", {"freeze"}, {"asyncio", "uvloop", "threads"}),
        ("rate_per_s", {5000, 10_000, 30_000}, {"asyncio", "uvloop", "threads", "processes+uvloop"}),
    ],
)
def test_each_axis_is_swept_alone_at_two_thousand_calls(axis: str, values: set[Any], backends: set[str]):
    for value in values:
        found = standard(**{axis: value})
        assert {cell.backend for cell in found if cell.calls == 2000} == backends
        # What 10,000 threads do is a question of the switch interval.
        assert {cell.calls for cell in found} <= ({2000, 10_000} if axis == "switch_ms" else {2000})


def test_no_axis_is_swept_that_is_not_named_here():
    swept = {axis for cell in CELLS for axis in cell.axes.set_values()}
    assert swept == {"workers", "start_method", "stack_kib", "switch_ms", "gc", "rate_per_s", "width"}


def test_every_way_of_growing_and_of_arriving_is_there():
    asyncio = [cell for cell in CELLS if cell.backend == "asyncio"]
    sizes = {name: {cell.calls for cell in asyncio if cell.workload == name} for name in ("paced", "steady")}
    assert sizes == {"paced": {500, 1000, 2000, 3000}, "steady": SIZES}
    assert {cell.workload for cell in asyncio} == {"steady", "paced", "lockstep", "lesson", "chat", "code"}
    assert {cell.backend for cell in CELLS if cell.workload == "lesson"} == set(BACKENDS)


def test_every_backend_is_warmed_up_and_it_takes_less_than_45_minutes():
    assert FULL.run.warmup
    assert total_seconds(FULL.plan().ahead([])) < 45 * 60
