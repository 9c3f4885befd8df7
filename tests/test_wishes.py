"""What the command line asks of a profile."""

from pathlib import Path

import pytest

from profiles_made import small
from streamlanes.clients import CLIENTS
from streamlanes.errors import UserError
from streamlanes.profile_files import load
from streamlanes.wishes import Wishes


def test_wishes_replace_the_matrix_with_one_repetition():
    wishes = Wishes(backends=["threads"], calls=[7], settings={"width": [1, 2], "seed": [9]})
    cells = wishes.applied(load("quick")).expand()
    assert [(cell.backend, cell.client, cell.workload, cell.calls, cell.repetition) for cell in cells] == [
        ("threads", "streams", "steady", 7, 1)
    ]
    assert cells[0].axes.seed == 9
    assert wishes.applied(load("quick")).name == "custom", "it is not the quick profile any more"
    assert len(Wishes(repeats=2, backends=["threads"]).applied(load("quick")).expand()) == 2


def test_no_wish_leaves_the_profile_alone():
    assert Wishes().applied(small()) == small()
    assert len(Wishes(repeats=2).applied(small()).expand()) == 12


def test_a_trace_brings_its_workload(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"timestamp": 0, "input_length": 1, "output_length": 2}\n')
    wishes = Wishes(calls=[1], settings={"trace": [str(path)]})
    assert {cell.workload for cell in wishes.applied(small()).expand()} == {"trace"}
    with pytest.raises(UserError, match="workload trace"):
        Wishes(calls=[1], workload="steady", settings={"trace": [str(path)]}).applied(small()).expand()


def test_an_axis_that_means_nothing_to_a_backend_is_dropped_not_refused():
    wishes = Wishes(backends=["asyncio", "thread-pool"], settings={"width": [5], "stack_kib": [256]})
    cells = {cell.backend: cell for cell in wishes.applied(small()).expand()}
    assert cells["asyncio"].axes.width is None
    assert cells["thread-pool"].axes.width == 5
    assert cells["thread-pool"].axes.stack_kib == 256


def test_tls_is_an_axis_of_clients_with_a_network():
    wishes = Wishes(backends=["asyncio"], clients=["timer", "streams"], settings={"tls": [True]})
    ids = [cell.id for cell in wishes.applied(small()).expand()]
    assert ids == ["io/asyncio/timer/steady/500/r1", "io/asyncio/streams/steady/500/tls=true/r1"]


def test_backends_that_nobody_named_are_those_that_fit_the_client():
    cells = Wishes(clients=["requests", "aiohttp"], calls=[5]).applied(load("quick")).expand()
    found = {client: {cell.backend for cell in cells if cell.client == client} for client in CLIENTS}
    assert found["requests"] >= {"threads"}
    assert found["aiohttp"] >= {"asyncio", "uvloop"}
    assert found["requests"].isdisjoint(found["aiohttp"])
    named = Wishes(clients=["requests"], backends=["asyncio"], calls=[5]).applied(load("quick"))
    assert [cell.backend for cell in named.expand()] == ["asyncio"], "it ends unsupported, and says why"
