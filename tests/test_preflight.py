import pytest

from streamlanes.backends import BACKENDS
from streamlanes.clients import CLIENTS
from streamlanes.limits import Limits
from streamlanes.preflight import LimitName, bites, doubts, need, reason, shortfalls


def cell(backend, in_flight, client="streams", **given):
    settings = {"workers": 2, "width": None, "provider_processes": 1, "provider_ports": 4, **given}
    return need(backend=BACKENDS[backend], client=CLIENTS[client], in_flight=in_flight, **settings)


def short(limits, needed):
    return [found.limit for found in shortfalls(limits, needed)]


# What a cell needs


def test_one_loop_holds_all_descriptors_and_no_threads():
    found = cell("asyncio", 500)
    assert (found.descriptors_cell, found.descriptors_provider, found.descriptors) == (564, 564, 564)
    assert (found.threads, found.processes, found.tasks) == (0, 2, 2)
    assert (found.ports, found.backlog) == (125, 125)


def test_worker_processes_share_the_calls_rounded_up():
    found = cell("processes+uvloop", 501, workers=4, provider_processes=2)
    assert found.descriptors_cell == 126 + 64
    assert found.descriptors_provider == 251 + 64
    assert found.processes == 1 + 4 + 2
    assert found.threads == 0


def test_a_thread_a_call_takes_mappings_in_the_process_that_has_it():
    alone, spread = cell("threads", 1000), cell("processes+threads", 1000, workers=4)
    assert (alone.threads, spread.threads) == (1000, 1000)
    empty = cell("asyncio", 1000).maps
    assert alone.maps - empty == 4 * (spread.maps - empty) == 3000


@pytest.mark.parametrize("backend", ["thread-pool", "asyncio+to_thread"])
def test_a_thread_pool_never_takes_more_than_its_width(backend):
    found = cell(backend, 10_000, width=64)
    assert (found.threads, found.descriptors_cell, found.ports) == (64, 128, 16)
    assert cell(backend, 10, width=64).threads == 10


def test_a_process_pool_has_a_process_for_each_of_its_width_and_pipes_to_them():
    found = cell("process-pool", 10_000, width=100)
    assert (found.processes, found.threads) == (1 + 100 + 1, 0)
    assert found.descriptors_cell == 64 + 2 * 100
    assert found.descriptors_provider == 64 + 100


def test_a_client_without_network_needs_no_provider():
    found = cell("threads", 500, client="timer")
    assert (found.descriptors_cell, found.descriptors_provider) == (64, 0)
    assert (found.processes, found.ports, found.backlog) == (1, 0, 0)


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_needs_only_grow_with_the_calls(backend):
    """What the search for the first bite relies on."""
    names = ("descriptors", "tasks", "maps", "ports", "memory_bytes", "backlog")
    sizes = [cell(backend, calls, width=8) for calls in (1, 2, 7, 8, 9, 100, 5_000)]
    for name in names:
        figures = [getattr(size, name) for size in sizes]
        assert figures == sorted(figures), name


# Case C3: 256 descriptors


def test_case_c3_a_hard_limit_of_256_forbids_500_streams_with_the_command():
    [found] = shortfalls(Limits(nofile_soft=256, nofile_hard=256), cell("asyncio", 500))
    assert (found.limit, found.have, found.need, found.calls) == (LimitName.NOFILE, 256, 564, 193)
    assert reason(found) == (
        "nofile: 564 open files needed, 256 allowed (hard limit); raise it with: ulimit -Hn 564"
    )


def test_case_c3_a_soft_limit_of_256_forbids_nothing():
    assert shortfalls(Limits(nofile_soft=256, nofile_hard=4096), cell("asyncio", 500)) == []


def test_a_provider_that_holds_more_than_the_cell_is_the_one_that_counts():
    needed = cell("processes+asyncio", 500, workers=4)
    assert needed.descriptors_cell < 256 < needed.descriptors_provider
    assert short(Limits(nofile_hard=256), needed) == [LimitName.NOFILE]


# Every limit, at the very number where it bites


@pytest.mark.parametrize(
    ("limit", "limits", "remedy"),
    [
        (LimitName.NOFILE, {"nofile_hard": 1064}, "ulimit -Hn 1065"),
        (LimitName.NPROC, {"nproc": 1012, "nproc_now": 10}, "ulimit -u 1013"),
        (LimitName.PIDS, {"pids_max": 1022, "pids_now": 20}, "pids.max = 1023"),
        (LimitName.THREADS_MAX, {"threads_max": 1032, "threads_now": 30}, "kernel.threads-max=1033"),
        (LimitName.PID_MAX, {"pid_max": 1332, "threads_now": 30}, "kernel.pid_max=1333"),
        (LimitName.MAP_COUNT, {"map_count_max": 3500}, "vm.max_map_count=3503"),
        (LimitName.PORTS, {"ports": 250}, "ip_local_port_range"),
        (LimitName.MEMORY, {"memory_available_bytes": cell("threads", 1000).memory_bytes}, "MiB free"),
    ],
)
def test_each_limit_allows_1000_threads_and_forbids_1001(limit, limits, remedy):
    allowed = Limits(**limits)
    assert shortfalls(allowed, cell("threads", 1000)) == []
    [found] = shortfalls(allowed, cell("threads", 1001))
    assert (found.limit, found.calls) == (limit, 1001)
    assert found.need > found.have
    assert remedy in found.remedy
    assert reason(found).startswith(f"{limit}: {'' if limit is LimitName.MEMORY else found.need}")
    assert "\n" not in reason(found)


def test_limits_that_are_not_known_forbid_nothing():
    assert shortfalls(Limits(), cell("threads", 10_000)) == []
    assert bites(Limits(), cell("threads", 10_000)) == []


def test_root_is_not_held_to_nproc():
    needed = cell("threads", 1000)
    assert short(Limits(nproc=100), needed) == [LimitName.NPROC]
    assert short(Limits(nproc=100, nproc_exempt=True), needed) == []


def test_address_space_is_reported_and_not_predicted():
    assert shortfalls(Limits(address_space_bytes=1 << 20), cell("threads", 1000)) == []


def test_the_limit_that_bites_first_comes_first():
    limits = Limits(nofile_hard=1064, map_count_max=2000, pids_max=803, pids_now=0, ports=20_000)
    found = shortfalls(limits, cell("threads", 5_000))
    assert [(f.limit, f.calls) for f in found] == [("map-count", 501), ("pids", 802), ("nofile", 1001)]


def test_bites_tells_also_what_lies_beyond_this_cell():
    limits = Limits(nofile_hard=1064, ports=1000)
    needed = cell("asyncio", 10)
    assert shortfalls(limits, needed) == []
    found = bites(limits, needed)
    assert [(f.limit, f.calls, f.bites) for f in found] == [("nofile", 1001, False), ("ports", 4001, False)]
    assert found[0].remedy == "ulimit -Hn 1065", "as many as it takes where it bites"


def test_a_bounded_backend_never_meets_a_limit_above_its_width():
    assert bites(Limits(nofile_hard=1064), cell("thread-pool", 10_000, width=64)) == []


def test_a_short_accept_queue_is_a_doubt_and_forbids_nothing():
    limits = Limits(somaxconn=128)
    assert shortfalls(limits, cell("asyncio", 10_000)) == []
    [found] = doubts(limits, cell("asyncio", 10_000))
    assert (found.limit, found.have, found.need, found.calls) == (LimitName.SOMAXCONN, 128, 2500, 513)
    assert doubts(limits, cell("asyncio", 512)) == []


def test_memory_is_told_in_mib():
    [found] = shortfalls(Limits(memory_available_bytes=10 << 20), cell("asyncio", 1))
    assert reason(found).startswith(
        "memory: 17 MiB at the least needed, 10 MiB available; raise it with: 17 MiB"
    )


def test_a_librarys_default_pool_slows_from_its_size_on():
    [found] = doubts(Limits(), cell("asyncio", 300, client="aiohttp-defaults"))
    assert (found.limit, found.have, found.need, found.calls) == (LimitName.CLIENT_POOL, 100, 300, 101)
    assert found.remedy == "aiohttp.TCPConnector(limit=300)"
    assert not found.forbids
    assert doubts(Limits(), cell("asyncio", 100, client="aiohttp-defaults")) == []
    assert doubts(Limits(), cell("asyncio", 300, client="aiohttp")) == []


def test_each_process_has_a_pool_of_its_own():
    assert doubts(Limits(), cell("processes+asyncio", 300, client="httpx-defaults", workers=4)) == []
    [found] = bites(Limits(), cell("processes+asyncio", 300, client="httpx-defaults", workers=4))
    assert found.calls == 401
