"""Cells: what identifies them, and how many calls they put in flight."""

from pathlib import Path

import msgspec
import pytest

from streamlanes import estimate, traces
from streamlanes.backends import BACKENDS
from streamlanes.cells import Axes, Cell, DistAxis, check
from streamlanes.clients import CLIENTS
from streamlanes.errors import UserError
from streamlanes.provider.behaviour import Behaviour
from streamlanes.workload import build


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Sixty requests, one every 50 ms, of 20 tokens each."""
    path = tmp_path / "somebody" / "mine.jsonl"
    path.parent.mkdir()
    rows = (f'{{"timestamp": {i * 50}, "input_length": 1, "output_length": 20}}\n' for i in range(60))
    path.write_text("".join(rows))
    return path


def cell(workload: str = "trace", calls: int = 60, backend: str = "asyncio", **axes: object) -> Cell:
    return Cell(
        lane="io", backend=backend, client="streams", workload=workload, calls=calls, axes=Axes(**axes)
    )


def test_a_trace_is_named_by_its_content_and_no_path_is_told(trace: Path):
    one = cell(trace=str(trace))
    assert "/trace=mine.jsonl@" in one.id
    assert one.asked == {"trace": traces.read(str(trace)).name}
    load = one.load()
    axes = one.resolved_axes(load, build(load, 60))
    assert axes["trace"] == traces.read(str(trace)).name
    assert axes["time_scale"] == 1.0
    assert axes["arrival"] == "trace"
    assert axes["tokens"]["median"] == 20
    assert "somebody" not in f"{one.id} {axes} {one.asked}"


def test_a_workload_without_a_reality_has_no_scale():
    one = cell("steady")
    axes = one.resolved_axes(one.load(), build(one.load(), 60))
    assert (axes["time_scale"], axes["trace"]) == (None, None)


def test_what_is_in_flight_is_the_schedules_peak_or_the_pools_width(trace: Path):
    real, fast = cell(trace=str(trace)), cell(trace=str(trace), time_scale=1000)
    pool = cell(backend="thread-pool", trace=str(trace), time_scale=1000, width=8)
    steady = cell("steady")
    peaks = [one.in_flight(build(one.load(), one.calls)) for one in (real, fast, pool, steady)]
    assert peaks[0] < 20
    assert peaks[1:] == [60, 8, 60]


def test_a_replay_is_estimated_by_its_own_length(trace: Path):
    slow, fast = (estimate.seconds(cell(trace=str(trace), time_scale=scale)) for scale in (1, 30))
    assert slow > fast + 2


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"trace": "none.csv"}, ["cannot read", "none.csv"]),
        ({}, ["--set trace=PATH"]),
        ({"time_scale": 1e9}, ["time_scale"]),
        ({"time_scale": 0}, ["time_scale"]),
    ],
)
def test_a_cell_that_cannot_be_meant_is_refused(axes: dict[str, object], words: list[str]):
    with pytest.raises(UserError) as error:
        check(cell(**axes))
    for word in words:
        assert word in str(error.value)


def test_keep_alive_is_an_axis_of_clients_that_can_do_either():
    def asked(client: str, keep_alive: bool | None) -> bool | None:
        axes = Axes(keep_alive=keep_alive).that_matter(BACKENDS["threads"], CLIENTS[client])
        return axes.keep_alive

    assert asked("httpx", False) is False
    assert asked("httpx", True) is None, "it does so by itself: the same cell"
    for client in ("httpx-defaults", "streams", "floor", "timer"):
        assert [asked(client, each) for each in (True, False)] == [None, None]


def test_an_sdk_speaks_its_own_dialect_whatever_is_asked():
    for client in ("openai", "anthropic"):
        axes = Axes(api="openai").that_matter(BACKENDS["asyncio"], CLIENTS[client])
        one = Cell(lane="io", backend="asyncio", client=client, workload="steady", calls=9, axes=axes)
        assert (axes.api, one.api) == (None, client)


def test_what_is_kept_is_told_as_it_ran():
    def told(client: str, **axes: object) -> bool | None:
        one = Cell(lane="io", backend="threads", client=client, workload="steady", calls=9, axes=Axes(**axes))
        return one.resolved_axes(one.load(), build(one.load(), 9))["keep_alive"]

    assert (told("timer"), told("streams"), told("httpx")) == (None, False, True)
    assert told("httpx-defaults") is True
    assert told("httpx", keep_alive=False) is False


def test_a_memory_pass_holds_what_the_clients_own_pool_admits():
    def held(client: str, backend: str = "asyncio", **axes: object) -> int:
        one = Cell(lane="io", backend=backend, client=client, workload="steady", calls=500, axes=Axes(**axes))
        return one.in_flight(build(one.load(), one.calls))

    assert held("aiohttp") == held("openai-defaults") == 500
    assert held("aiohttp-defaults") == 100
    assert held("httpx-defaults", "processes+asyncio", workers=3) == 300
    assert held("httpx-defaults", "process-pool", width=200) == 200


def test_the_dialect_is_openai_unless_another_one_is_named():
    plain, other = cell("steady"), cell("steady", api="anthropic")
    assert (plain.api, other.api) == ("openai", "anthropic")
    assert plain.resolved_axes(plain.load(), build(plain.load(), 60))["api"] == "openai"
    assert "/api=anthropic/" in other.id
    check(other)
    with pytest.raises(UserError, match="did you mean 'anthropic'"):
        check(cell("steady", api="antropic"))


def test_recorded_gaps_are_named_by_their_content_and_no_path_is_told(tmp_path: Path):
    path = tmp_path / "somebody" / "gaps.txt"
    path.parent.mkdir()
    path.write_text("5\n7\n40\n")
    one = cell("lesson", gaps=str(path))
    name = traces.read_gaps(str(path)).of
    assert f"/gaps={name}/" in one.id
    axes = one.resolved_axes(one.load(), build(one.load(), 60))
    assert axes["gaps"] == name
    assert axes["gap_ms"]["of"] == name
    assert "somebody" not in f"{one.id} {axes} {one.asked}"
    path.write_bytes(b"\xff\n")
    traces._read_gaps.cache_clear()
    with pytest.raises(UserError, match="no recording"):
        one.load()


def test_a_heavy_tail_is_a_distribution_like_any_other():
    one = cell("lesson", gap_ms=DistAxis(20.0, tail=1.5))
    assert "/gap_ms=20.0^1.5/" in one.id
    assert one.resolved_axes(one.load(), build(one.load(), 60))["gap_ms"] == {"median": 20.0, "tail": 1.5}
    with pytest.raises(UserError, match="sigma"):
        check(cell("lesson", gap_ms=DistAxis(20.0, sigma=1.0, tail=1.5)))


def test_a_provider_that_cannot_be_meant_is_refused():
    with pytest.raises(UserError, match="at is 2"):
        check(msgspec.structs.replace(cell("lesson"), provider=Behaviour(at=2)))
