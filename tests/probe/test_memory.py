import os
import sys
from pathlib import Path

import pytest

from streamlanes.probe import memory
from streamlanes.probe.smaps import Mapping, parse, read_mappings

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

KIB = 1024
DISK, MEMORY_FILES = b"fe:00", b"00:1b"

SMAPS = b"""\
55e0392e8000-55e0392ea000 r--p 00000000 fe:00 260386                     /usr/bin/a program: (deleted)
Size:                  8 kB
KernelPageSize:        4 kB
Rss:                   8 kB
Pss:                   3 kB
Pss_Dirty:             0 kB
Shared_Clean:          8 kB
Private_Clean:         0 kB
Private_Dirty:         0 kB
Anonymous:             0 kB
THPeligible:           0
VmFlags: rd mr mw me
7fd8f4300000-7fd8f4400000 rw-p 00000000 00:00 0
Size:               1024 kB
Rss:                  44 kB
Pss:                  44 kB
Private_Clean:         4 kB
Private_Dirty:        40 kB
Anonymous:            44 kB
VmFlags: rd wr mr mw me ac
"""


def mapping(name=b"", device=b"00:00", size=1 << 20, **kib):
    """A mapping with these figures in KiB; PSS is RSS unless it is given."""
    kib = {"pss": kib.get("rss", 0), **kib}
    blank = Mapping(0, size, device, name, 0, 0, 0, 0, 0)
    return blank._replace(**{f"{figure}_bytes": value * KIB for figure, value in kib.items()})


def divided(*mappings):
    """(private, shared, file) PSS in KiB."""
    return tuple(
        part / KIB for part in memory.divide(mappings, b"/memfd:streamlanes", frozenset({MEMORY_FILES}))[:3]
    )


def test_parser_gives_every_mapping_with_its_name_and_bytes():
    first, second = parse(SMAPS.splitlines(keepends=True))
    assert first == (
        0x55E0392E8000,
        0x55E0392EA000,
        DISK,
        b"/usr/bin/a program: (deleted)",
        8 * KIB,
        3 * KIB,
        0,
        0,
        0,
    )
    assert second.name == b""
    assert second[4:] == (44 * KIB, 44 * KIB, 44 * KIB, 4 * KIB, 40 * KIB)


def test_nothing_read_is_no_mapping():
    assert list(parse([])) == []


def test_anonymous_memory_is_private_even_where_forked_processes_share_it():
    assert divided(mapping(name=b"[heap]", rss=100, pss=20, anonymous=100)) == (20, 0, 0)


@pytest.mark.parametrize(
    ("name", "device"),
    [
        (b"/memfd:other (deleted)", b"00:01"),
        (b"/dev/zero (deleted)", b"00:01"),
        (b"/dev/shm/psm_1", b"00:05"),
        (b"/SYSV00000000 (deleted)", b"00:01"),
        (b"/somewhere/on/a/memory/file/system", MEMORY_FILES),
    ],
)
def test_memory_files_are_shared(name, device):
    assert divided(mapping(name=name, device=device, rss=100, pss=50, private_dirty=0)) == (0, 50, 0)


def test_pages_of_a_disk_file_are_file_and_its_copied_pages_private():
    plain = mapping(name=b"/lib/a.so", device=DISK, rss=60, pss=6)
    copied = mapping(
        name=b"/lib/a.so", device=DISK, rss=104, anonymous=40, private_clean=0, private_dirty=104
    )
    assert divided(plain, copied) == (40, 0, 6 + 64)


def test_copied_pages_of_a_memory_file_are_private_too():
    assert divided(
        mapping(name=b"/memfd:x (deleted)", rss=44, anonymous=40, private_clean=4, private_dirty=40)
    ) == (40, 4, 0)


def test_copied_pages_that_a_fork_shares_are_divided_like_the_other_shared_pages():
    # 20 KiB copied by this process alone, 40 KiB copied before two processes parted,
    # 40 KiB of file pages that the same two map: PSS 20 + 80 / 2.
    both = mapping(name=b"/lib/a.so", device=DISK, rss=100, pss=60, anonymous=60, private_dirty=20)
    assert divided(both) == (40, 0, 20)


def test_own_tables_are_left_out_of_everything_but_named():
    own = mapping(name=b"/memfd:streamlanes-samples (deleted)", device=b"00:01", rss=100, size=1 << 30)
    other = mapping(rss=8, anonymous=8, size=1 << 14)
    private, shared, file, rss, virtual, own_rss = memory.divide(
        (own, other), b"/memfd:streamlanes", frozenset()
    )
    assert (private, shared, file, rss, virtual) == (8 * KIB, 0, 0, 8 * KIB, 1 << 14)
    assert own_rss == 100 * KIB


def test_the_vsyscall_page_is_in_nobodys_address_space():
    assert memory.divide([mapping(name=b"[vsyscall]")], b"/memfd:x", frozenset())[4] == 0


@linux_only
def test_case_f1_forked_workers_are_not_counted_five_times(child):
    process, line = child(
        "import os, signal\n"
        "block = bytearray(b'x') * (100 << 20)\n"
        "pids = []\n"
        "for _ in range(4):\n"
        "    pid = os.fork()\n"
        "    if pid == 0: signal.pause()\n"
        "    pids.append(pid)\n"
        "print(*pids, flush=True)\n"
        "signal.pause()\n"
    )
    parent = memory.read_memory([process.pid])
    tree = memory.read_memory([process.pid, *map(int, line.split())])
    assert tree.processes == 5
    assert parent.rss_upper_bound_bytes >= 100 << 20
    assert 100 << 20 <= tree.pss_bytes <= 1.3 * parent.rss_upper_bound_bytes
    assert tree.rss_upper_bound_bytes >= 4 * parent.rss_upper_bound_bytes
    assert tree.peak_rss_upper_bound_bytes >= 4 * parent.rss_upper_bound_bytes
    assert tree.peak_rss_bytes is None


@linux_only
def test_each_kind_of_memory_lands_in_its_own_figure_and_agrees_with_the_kernels_total(child, tmp_path):
    file = tmp_path / "data"
    process, _ = child(
        "import mmap, os, signal\n"
        "def memfd(name, mib):\n"
        "    fd = os.memfd_create(name); os.ftruncate(fd, mib << 20)\n"
        "    table = mmap.mmap(fd, mib << 20); table[:] = b'a' * (mib << 20); return table\n"
        "own, other = memfd('streamlanes-samples', 64), memfd('other', 8)\n"
        "zero = mmap.mmap(-1, 4 << 20); zero[:] = b'b' * (4 << 20)\n"
        "private = bytearray(b'c') * (32 << 20)\n"
        f"open({str(file)!r}, 'wb').write(b'z' * (16 << 20))\n"
        f"fd = os.open({str(file)!r}, os.O_RDWR)\n"
        "copied = mmap.mmap(fd, 16 << 20, mmap.MAP_PRIVATE)\n"
        "sum(copied[i] for i in range(0, 16 << 20, 4096))\n"
        "copied[:2 << 20] = b'q' * (2 << 20)\n"
        "print('up', flush=True); signal.pause()\n"
    )
    reading = memory.read_memory([process.pid])
    rollup = dict(
        line.split(":") for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()[1:]
    )
    kernel = {name: int(rollup[name].split()[0]) * KIB for name in ("Pss_Anon", "Pss_File", "Pss_Shmem")}
    on_disk = mapped_on_disk(process.pid, file)

    assert reading.private_pss_bytes >= 34 << 20
    assert reading.private_pss_bytes == pytest.approx(kernel["Pss_Anon"], abs=256 * KIB)
    if on_disk:
        assert reading.file_pss_bytes >= 14 << 20
        assert reading.file_pss_bytes == pytest.approx(kernel["Pss_File"], abs=256 * KIB)
        assert 12 << 20 <= reading.shared_pss_bytes < 13 << 20
    assert reading.shared_pss_bytes == pytest.approx(kernel["Pss_Shmem"] - (64 << 20), abs=256 * KIB)
    assert reading.pss_bytes == reading.private_pss_bytes + reading.shared_pss_bytes
    assert reading.own_rss_bytes == 64 << 20
    assert reading.peak_rss_bytes >= reading.rss_upper_bound_bytes + (64 << 20) - (1 << 20)
    assert reading.page_table_bytes > 0
    assert (reading.threads, reading.processes, reading.vanished) == (1, 1, 0)
    assert reading.fds == len(os.listdir(f"/proc/{process.pid}/fd"))
    assert reading.reason is None


def mapped_on_disk(pid, file):
    """Whether the test's folder is on a disk; on a memory file system its pages are shared memory."""
    devices = memory.memory_file_devices(pid)
    return not any(m.device in devices for m in read_mappings(pid) if m.name == str(file).encode())


@linux_only
def test_reserved_address_space_is_the_kernels_own_figure_without_the_own_tables(child):
    process, _ = child(
        "import mmap, os, signal\n"
        "fd = os.memfd_create('streamlanes-x'); os.ftruncate(fd, 1 << 24); own = mmap.mmap(fd, 1 << 24)\n"
        "print('up', flush=True); signal.pause()\n"
    )
    whole = memory.read_status(process.pid)["VmSize"] * KIB
    # the kernel does not count the pages it maps for itself ([vvar]) in VmSize
    assert whole - (1 << 24) == pytest.approx(memory.read_memory([process.pid]).virtual_bytes, abs=64 * KIB)


@linux_only
def test_what_has_ended_is_counted_and_the_rest_is_read(child):
    alive, _ = child("import signal; print('up', flush=True); signal.pause()")
    gone, _ = child("print('up', flush=True)")
    zombie, _ = child("import os; print('up', flush=True); os._exit(0)")
    gone.wait()
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)

    reading = memory.read_memory([alive.pid, gone.pid, zombie.pid])
    assert (reading.processes, reading.vanished) == (1, 2)
    assert reading.pss_bytes > 0
    none = memory.read_memory([gone.pid])
    assert none.pss_bytes is None
    assert none.reason


def test_what_may_not_be_read_is_none_with_a_reason():
    def forbidden(pid):
        raise PermissionError(13, "Permission denied")

    reading = memory.read_memory([os.getpid()], read=forbidden)
    assert reading.pss_bytes is None
    assert reading.rss_upper_bound_bytes is None
    assert reading.reason


@linux_only
def test_descriptors_that_may_not_be_listed_are_none_and_not_fewer(monkeypatch):
    monkeypatch.setattr(memory.os, "listdir", lambda path: (_ for _ in ()).throw(PermissionError(13, path)))
    reading = memory.read_memory([os.getpid()])
    assert reading.fds is None
    assert "descriptors" in reading.reason
    assert reading.pss_bytes > 0


def test_without_linux_there_is_an_upper_bound_and_a_reason(monkeypatch):
    monkeypatch.setattr(memory, "LINUX", False)
    reading = memory.read_memory([os.getpid(), 2**22 + 1])
    assert reading.pss_bytes is None
    assert reading.rss_upper_bound_bytes > 1 << 20
    assert (reading.processes, reading.vanished) == (1, 1)
    assert reading.reason


@linux_only
def test_the_peak_outlives_the_memory(child):
    process, _ = child(
        "import signal\nblock = bytearray(b'x') * (64 << 20)\ndel block\n"
        "print('up', flush=True); signal.pause()\n"
    )
    reading = memory.read_memory([process.pid])
    assert reading.peak_rss_bytes >= 64 << 20
    assert reading.rss_upper_bound_bytes < 64 << 20


@linux_only
def test_the_status_of_a_process_that_is_gone_raises(child):
    process, _ = child("print('up', flush=True)")
    process.wait()
    with pytest.raises(ProcessLookupError):
        memory.read_status(process.pid)
