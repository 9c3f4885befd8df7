import json
import platform

import pytest

from streamlanes.probe.machine import allocator, fingerprint, machine, parse_cpuinfo, slug
from trees import write_tree

HERE = {
    "cpu": "AMD EPYC",
    "cpus_usable": 2,
    "cpus_online": 2,
    "memory_bytes": 25_276_514_304,
    "kernel": "6.18.44-custom",
    "system": "Linux",
    "architecture": "x86_64",
    "python": "3.11.7",
    "implementation": "CPython",
    "free_threaded": False,
    "uvloop": "0.23.0",
}


def test_this_machine_names_what_a_reader_must_know_and_no_place():
    here = machine()
    assert here["python"] == platform.python_version()
    assert here["cpus_usable"] >= 1
    assert here["memory_bytes"] > 1 << 20
    assert here["numpy"].count(".") >= 1
    assert json.loads(json.dumps(here)) == here
    assert platform.node() not in here.values()
    assert not [value for value in here.values() if str(value).startswith(("/", "C:"))]
    assert None not in here.values()


def test_what_the_files_do_not_tell_is_absent(tmp_path):
    here = machine(tmp_path)
    assert not {"somaxconn", "clock_source", "virtualised", "cgroup_cpus", "cgroup_pids"} & set(here)
    assert here["cpu"]


def test_facts_from_files(tmp_path):
    root = write_tree(
        tmp_path,
        {
            "proc/cpuinfo": "model name\t: Fast 9\nflags\t\t: fpu hypervisor\n\nmodel name : Slow\n",
            "proc/sys/net/core/somaxconn": "4096\n",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        },
    )
    here = machine(root)
    assert (here["cpu"], here["virtualised"], here["somaxconn"]) == ("Fast 9", True, 4096)
    assert here["clock_source"] == "tsc"


def test_cpuinfo_of_a_cpu_without_a_name():
    assert parse_cpuinfo("processor\t: 0\nBogoMIPS\t: 50.00\n").get("model name") is None


def test_what_the_environment_says_to_the_allocator_is_told_without_folders():
    said = {
        "LD_PRELOAD": "/opt/lib/libjemalloc.so.2",
        "MALLOC_ARENA_MAX": "2",
        "HOME": "/root",
        "PYTHONMALLOC": "",
    }
    assert allocator(said) == "LD_PRELOAD=libjemalloc.so.2 MALLOC_ARENA_MAX=2"
    assert allocator({"HOME": "/root"}) == ""
    assert fingerprint({**HERE, "allocator": "MALLOC_ARENA_MAX=2"}) != fingerprint(HERE)


def test_fingerprint_is_stable_and_ignores_the_order_of_keys():
    assert fingerprint(HERE) == fingerprint(dict(reversed(HERE.items())))
    assert fingerprint(HERE) == "84a8ba5a117f"


@pytest.mark.parametrize(
    "change",
    [
        {"cpu": "AMD EPYC 2"},
        {"cpus_usable": 1},
        {"python": "3.12.0"},
        {"free_threaded": True},
        {"uvloop": "0.22.0"},
    ],
)
def test_fingerprint_changes_with_what_decides_speed(change):
    assert fingerprint({**HERE, **change}) != fingerprint(HERE)


def test_fingerprint_does_not_change_with_a_few_pages_of_memory():
    assert fingerprint({**HERE, "memory_bytes": 25_276_510_208}) == fingerprint(HERE)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "amd-epyc-2cpu-24gib-linux-6.18-cpython-3.11.7"),
        (
            {"cpu": "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", "kernel": "5.15.0-1-azure"},
            "intel-xeon-platinum-8370c-2cpu-24gib-linux-5.15-cpython-3.11.7",
        ),
        (
            {"cpu": "AMD Ryzen 7 5800H with Radeon Graphics", "python": "3.14.0", "free_threaded": True},
            "amd-ryzen-7-5800h-2cpu-24gib-linux-6.18-cpython-3.14.0t",
        ),
        ({"cpu": "AMD EPYC 7763 64-Core Processor"}, "amd-epyc-7763-2cpu-24gib-linux-6.18-cpython-3.11.7"),
        ({"cpu": "../Né w\n"}, "n-w-2cpu-24gib-linux-6.18-cpython-3.11.7"),
    ],
)
def test_slug_is_short_and_safe_as_a_folder_name(change, expected):
    assert slug({**HERE, **change}) == expected


def test_slug_of_almost_nothing_is_still_a_name():
    assert slug({}) == "unknown-0cpu"
