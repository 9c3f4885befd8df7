"""The doctor's report from made-up limits and records: what is marked, said and left out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records import MACHINE
from streamlanes import checkup as finds
from streamlanes.backends import BACKENDS
from streamlanes.clients import CLIENTS
from streamlanes.doctor import Checkup, Cpus, Grain, Noise, Others, RampUp, Report, as_json, encode
from streamlanes.doctor_lines import answer_lines, checkup_lines, limit_lines
from streamlanes.facts import Missing
from streamlanes.limits import Limits
from streamlanes.preflight import bites, need

CPUS = Cpus(online=8, affinity=4, cpuset=4, quota=2.5, usable=2, apart=False)
CHECKUP = Checkup(
    gap_ms=3.7,
    timers={
        "asyncio": Grain(p50_ms=0.61, p99_ms=1.24, early_share=0.0, count=400),
        "uvloop": Missing("uvloop is not installed"),
    },
    noise_of="4 identical cells",
    noise={
        "latency.stream_ms.p99": Noise(median=1.9, unit="ms", half_range_share=0.08, repetitions=4),
        "time.overrun_s": Missing("no cell ran"),
        "memory.per_call_bytes": Missing("no cell ran"),
    },
    others=Others(idle_foreign_share=0.012, cell_foreign_share=Missing("ticks"), steal_share=0.0),
    ramp_up=RampUp(first_ms=5.5, best_ms=3.1, to_speed_ms=62.0),
    doubts={"noisy-host": 1},
)


def report(
    limits: Limits, calls: int = 3000, backend: str = "threads", client: str = "streams", **given: Any
) -> Report:
    width = given.get("width")
    asked = need(
        backend=BACKENDS[backend],
        client=CLIENTS[client],
        in_flight=min(calls, width or calls),
        workers=2,
        width=width,
        provider_processes=1,
        provider_ports=1,
    )
    made = {
        "calls": calls,
        "backend": backend,
        "client": client,
        "width": width,
        "machine": MACHINE,
        "limits": limits,
        "cpus": CPUS,
        "bites": tuple(bites(limits, asked)),
    }
    return Report(**{**made, **given})


TIGHT = Limits(
    nofile_soft=256,
    nofile_hard=1064,
    pids_max=2002,
    pids_now=0,
    map_count_max=65_530,
    somaxconn=128,
    memory_available_bytes=8 << 30,
)


# Limits


def test_limits_are_sorted_by_the_calls_at_which_they_bite_and_marked_with_what_lifts_them():
    rows = [
        line for line in limit_lines(report(TIGHT)) if "sysctl" in line or "=" in line or "ulimit" in line
    ]
    words = [row.split() for row in rows]
    assert [row[:3] for row in words[:3]] == [
        ["slows", "somaxconn", "129"],
        ["FORBIDS", "nofile", "1,001"],
        ["FORBIDS", "pids", "2,001"],
    ]
    assert words[3][:2] == ["map-count", "21,677"]
    assert "ulimit -Hn 3064" in rows[1]
    assert "pids.max = 3002" in rows[2]
    assert "vm.max_map_count=65531" in rows[3], "beyond these calls: what lifts it where it bites"


def test_the_answer_names_the_limit_that_forbids_and_the_next_ones():
    said = " ".join(" ".join(answer_lines(report(TIGHT))).split())
    assert "3,000 calls of the streams client under threads do not fit: nofile: 3064 open files" in said
    assert "ulimit -Hn 3064" in said
    assert "then pids" in said


def test_calls_that_fit_are_told_the_first_limit_ahead_and_what_slows_them():
    found = report(TIGHT, calls=500)
    assert found.forbidden is None
    said = " ".join(" ".join(answer_lines(found)).split())
    assert said.endswith("fit, slowed by somaxconn from 129 on; the first limit ahead is nofile, at 1,001")


def test_a_librarys_own_pool_is_a_limit_with_what_a_program_sets_for_more():
    found = report(Limits(), calls=300, backend="asyncio", client="aiohttp-defaults")
    (row,) = [line for line in limit_lines(found) if "client-pool" in line]
    assert row.split() == ["slows", "client-pool", "101", "300", "100", "aiohttp.TCPConnector(limit=300)"]
    assert found.forbidden is None
    assert "slowed by client-pool from 101 on" in " ".join(" ".join(answer_lines(found)).split())


def test_a_bounded_backend_meets_no_limit_above_its_width():
    found = report(TIGHT, backend="thread-pool", width=64)
    assert "LIMITS    none bites at any number of calls" in limit_lines(found)
    assert "64 at a time by design" in " ".join(answer_lines(found))
    assert as_json(found)["width"] == 64


def test_a_missing_library_forbids_whatever_the_limits_say():
    found = report(Limits(), lacks="uvloop is not installed; install it with: pip install uvloop")
    assert found.forbidden is not None
    assert "pip install uvloop" in " ".join(answer_lines(found))
    assert as_json(found)["fits"] is False


def test_address_space_is_shown_and_no_number_is_guessed():
    found = report(Limits(address_space_bytes=4 << 30))
    said = " ".join(" ".join(limit_lines(found)).split())
    assert "address space 4.0 GiB" in said
    assert "the allocator's choice" in said
    assert "ulimit -v unlimited" in said
    made = as_json(found)
    assert made["address_space"]["bites_at_calls"] is None
    assert "allocator" in made["missing"]["address_space.bites_at_calls"]
    assert not any("address space" in line for line in limit_lines(report(Limits())))
    assert "address_space" not in as_json(report(Limits()))


def test_cpus_and_what_the_system_does_not_tell_are_said():
    said = "\n".join(limit_lines(report(Limits(unread=("pid_max", "ports")))))
    assert "2 usable: 8 online, affinity 4, cpuset 4, quota 2.5 CPUs' worth of time" in said
    assert "share them" in " ".join(said.split())
    assert "not told by this system: pid_max, ports" in said


@given(
    calls=st.integers(1, 1_000_000),
    limits=st.builds(
        Limits,
        nofile_hard=st.none() | st.integers(0, 10**6),
        pids_max=st.none() | st.integers(0, 10**6),
        map_count_max=st.none() | st.integers(0, 10**6),
        memory_available_bytes=st.none() | st.integers(0, 10**11),
        somaxconn=st.none() | st.integers(1, 10**5),
    ),
    backend=st.sampled_from(sorted(name for name, info in BACKENDS.items() if not info.bounded)),
)
def test_marks_sums_and_the_json_agree_for_any_limits(calls: int, limits: Limits, backend: str):
    found = report(limits, calls=calls, backend=backend)
    order = [each.calls for each in found.bites]
    assert order == sorted(order)
    for each in found.bites:
        assert each.bites == (calls >= each.calls)
    assert (found.forbidden is not None) == any(each.bites and each.forbids for each in found.bites)
    made = json.loads(encode(found))
    assert made["fits"] == (found.forbidden is None)
    assert [each["bites_at_calls"] for each in made["limits"]] == order
    assert max(map(len, [*limit_lines(found), *answer_lines(found)])) <= 110


# What was measured, in words and JSON


def test_what_was_measured_is_told_in_short_lines():
    said = checkup_lines(CHECKUP)
    text = "\n".join(said)
    assert [line.split() for line in said if "asyncio" in line] == [
        ["asyncio", "0.61", "ms", "1.24", "ms", "0.0", "%"]
    ]
    assert "uvloop is not installed" in text
    assert "+-8.0 %" in text
    assert "- overrun, memory/call: no cell ran" in text, "a reason is given once"
    assert "others' CPU while we idle 1.2 %; in the worst cell: ticks; steal 0.0 %" in text
    assert "5.5 ms at first, 3.1 ms at best; at speed after 62 ms" in text
    assert "noisy-host in 1" in text
    assert max(map(len, said)) <= 110


def test_every_null_of_the_json_has_its_reason_and_every_reason_a_null():
    made = as_json(report(TIGHT, checkup=CHECKUP))

    def nulls(path: str, value: Any) -> list[str]:
        if isinstance(value, dict):
            return [each for name, inner in value.items() for each in nulls(f"{path}.{name}", inner)]
        return [path.removeprefix(".")] if value is None else []

    assert sorted(nulls("", made)) == sorted(made["missing"])
    assert made["missing"]["checkup.timers.uvloop"] == "uvloop is not installed"
    assert made["checkup"]["timers"]["asyncio"]["p99_ms"] == 1.24
    quick = as_json(report(TIGHT, calls=10))
    assert [each for each in nulls("", quick) if each != "reason"] == ["checkup"] == list(quick["missing"])
    assert "--quick" in quick["missing"]["checkup"]


@pytest.mark.parametrize(
    ("client", "backend", "calls", "pool", "widen"),
    [
        ("aiohttp", "uvloop", 101, 100, "aiohttp.TCPConnector(limit=101)"),
        ("aiohttp", "uvloop", 100, None, ""),
        ("openai", "asyncio", 3000, 1000, "max_connections=3000"),
        ("requests", "threads", 3000, None, ""),
        ("streams", "asyncio", 3000, None, ""),
        ("aiohttp-defaults", "uvloop", 3000, None, ""),
    ],
)
def test_a_librarys_default_pool_is_known_of_the_client_with_a_sized_one(
    client: str, backend: str, calls: int, pool: int | None, widen: str
):
    found, how = finds.default_pool(finds.asked(calls, backend, client))
    assert found == pool
    assert widen in how
    made = report(Limits(), calls=calls, backend=backend, client=client, default_pool=found, widen=how)
    said = " ".join(" ".join(answer_lines(made)).split())
    assert ("not in the library's default pool of" in said) == (pool is not None)
    assert as_json(made).get("client_pool_default") == pool
