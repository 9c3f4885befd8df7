import pytest

from streamlanes.probe import cgroup
from trees import write_tree

V2 = {
    "proc/self/cgroup": "0::/app/cell\n",
    "proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
}
V1 = {
    "proc/self/cgroup": "8:pids:/docker/ab\n5:memory:/docker/ab\n2:cpu,cpuacct:/docker/ab\n0::/\n",
    # without a namespace of its own a container's mount begins at its own group
    "proc/self/mountinfo": (
        "31 30 0:27 /docker/ab /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
        "32 30 0:28 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "33 30 0:29 /docker/ab /sys/fs/cgroup/cpu\\040both rw - cgroup cgroup rw,cpu,cpuacct\n"
        "34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    ),
}


def test_version_2_looks_at_the_group_and_all_its_ancestors(tmp_path):
    root = write_tree(tmp_path, {**V2, "sys/fs/cgroup/app/cell/pids.max": "max\n"})
    folders = [group.folder for group in cgroup.groups("pids", root)]
    top = root / "sys/fs/cgroup"
    assert folders == [top / "app/cell", top / "app", top]


def test_the_level_with_the_least_room_for_processes_is_found(tmp_path):
    root = write_tree(
        tmp_path,
        {
            **V2,
            "sys/fs/cgroup/app/cell/pids.max": "500\n",
            "sys/fs/cgroup/app/cell/pids.current": "10\n",
            "sys/fs/cgroup/app/pids.max": "1000\n",
            "sys/fs/cgroup/app/pids.current": "990\n",
            "sys/fs/cgroup/pids.current": "2000\n",
        },
    )
    assert cgroup.pids_room(root) == (1000, 990)


def test_no_limit_on_any_level_is_none(tmp_path):
    files = {"pids.max": "max", "pids.current": "4", "memory.max": "max", "cpu.max": "max 100000"}
    root = write_tree(
        tmp_path, {**V2, **{f"sys/fs/cgroup/app/cell/{name}": text for name, text in files.items()}}
    )
    assert cgroup.pids_room(root) is None
    assert cgroup.memory_limit_bytes(root) is None
    assert cgroup.memory_room_bytes(root) is None
    assert cgroup.cpu_quota(root) is None


def test_memory_room_counts_pages_of_files_as_free(tmp_path):
    root = write_tree(
        tmp_path,
        {
            **V2,
            "sys/fs/cgroup/app/cell/memory.max": "max\n",
            "sys/fs/cgroup/app/memory.max": "1000000\n",
            "sys/fs/cgroup/app/memory.current": "900000\n",
            "sys/fs/cgroup/app/memory.stat": "anon 500000\ninactive_file 300000\nactive_file 100000\n",
        },
    )
    assert cgroup.memory_limit_bytes(root) == 1_000_000
    assert cgroup.memory_room_bytes(root) == 500_000


def test_the_smallest_cpu_quota_counts(tmp_path):
    root = write_tree(
        tmp_path,
        {**V2, "sys/fs/cgroup/app/cell/cpu.max": "250000 100000", "sys/fs/cgroup/cpu.max": "50000 100000"},
    )
    assert cgroup.cpu_quota(root) == 0.5


def test_version_1_of_a_container_without_namespace(tmp_path):
    root = write_tree(
        tmp_path,
        {
            **V1,
            "sys/fs/cgroup/pids/pids.max": "1024\n",
            "sys/fs/cgroup/pids/pids.current": "24\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "8192\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "4096\n",
            "sys/fs/cgroup/memory/memory.stat": "inactive_file 9\ntotal_inactive_file 1024\n",
            "sys/fs/cgroup/cpu both/cpu.cfs_quota_us": "150000\n",
            "sys/fs/cgroup/cpu both/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu both/cpu.stat": "nr_periods 5\nnr_throttled 2\n",
        },
    )
    assert cgroup.pids_room(root) == (1024, 24)
    assert cgroup.memory_limit_bytes(root) == 8192
    assert cgroup.memory_room_bytes(root) == 8192 - (4096 - 1024)
    assert cgroup.cpu_quota(root) == 1.5
    assert cgroup.throttled_periods(root) == 2


def test_version_1_without_limits(tmp_path):
    root = write_tree(
        tmp_path,
        {
            **V1,
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
            "sys/fs/cgroup/cpu both/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu both/cpu.cfs_period_us": "100000\n",
        },
    )
    assert cgroup.memory_limit_bytes(root) is None
    assert cgroup.memory_room_bytes(root) is None
    assert cgroup.cpu_quota(root) is None
    assert cgroup.throttled_periods(root) is None


@pytest.mark.parametrize("path", ["/../other", "/hidden/from/here"])
def test_a_group_outside_the_mount_falls_back_to_the_mount(tmp_path, path):
    root = write_tree(
        tmp_path,
        {
            **V2,
            "proc/self/cgroup": f"0::{path}\n",
            "sys/fs/cgroup/pids.max": "9",
            "sys/fs/cgroup/pids.current": "1",
        },
    )
    assert cgroup.pids_room(root) == (9, 1)


def test_no_control_groups_at_all(tmp_path):
    assert cgroup.groups("pids", tmp_path) == ()
    assert cgroup.throttled_periods(tmp_path) is None


@pytest.mark.parametrize(("text", "count"), [("0-3,8\n", 5), ("2\n", 1), ("0-1,4-5,7", 5)])
def test_the_cpus_of_a_set_are_counted(tmp_path, text, count):
    files = {"app/cell/pids.max": "max\n", "app/cpuset.cpus.effective": text}
    root = write_tree(tmp_path, {**V2, **{f"sys/fs/cgroup/{name}": each for name, each in files.items()}})
    assert cgroup.cpuset_cpus(root) == count


@pytest.mark.parametrize("text", ["", "\n", "all\n"])
def test_a_set_that_is_not_told_is_none(tmp_path, text):
    root = write_tree(tmp_path, {**V2, "sys/fs/cgroup/app/cell/cpuset.cpus.effective": text})
    assert cgroup.cpuset_cpus(root) is None
    assert cgroup.cpuset_cpus(tmp_path / "nowhere") is None
