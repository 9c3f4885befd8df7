import os
import sys
from pathlib import Path

import pytest

from streamlanes.probe import stacks
from streamlanes.probe.smaps import Mapping

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

KIB = 1024


def wait_until_all_sleep(pid):
    """A loaded machine may leave a thread runnable for a while before it blocks."""
    states = {"R"}
    while states != {"S"}:
        stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
        states = {stat.rpartition(")")[2].split()[0] for stat in stats}


def mapping(start, end, rss=0):
    return Mapping(start, end, b"00:00", b"", rss, rss, rss, 0, rss)


@linux_only
def test_twenty_blocked_threads_are_all_placed(child):
    process, _ = child(
        "import threading\n"
        "threading.stack_size(512 * 1024)\n"
        "never = threading.Event()\n"
        "up = threading.Barrier(21)\n"
        "def wait(): up.wait(); never.wait()\n"
        "for _ in range(20): threading.Thread(target=wait, daemon=True).start()\n"
        "up.wait(); print('up', flush=True); never.wait()\n"
    )
    wait_until_all_sleep(process.pid)
    reading = stacks.thread_stacks(process.pid)
    assert (reading.threads, reading.placed) == (20, 20)
    # the guard page may be cut off the stack or added to it, and an older kernel may join 16 KiB
    assert 20 * 508 * KIB <= reading.reserved_bytes <= 20 * 532 * KIB
    assert 20 * 4 * KIB <= reading.resident_bytes < reading.reserved_bytes
    assert reading.reason is None


@linux_only
def test_the_main_threads_stack_is_left_out(child):
    process, _ = child("import signal; print('up', flush=True); signal.pause()")
    assert stacks.thread_stacks(process.pid) == stacks.StackReading(
        threads=0, placed=0, reserved_bytes=0, resident_bytes=0
    )


@linux_only
def test_a_thread_that_always_runs_is_counted_as_not_placed(monkeypatch, child):
    process, _ = child(
        "import threading\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "print('up', flush=True); threading.Event().wait()\n"
    )
    monkeypatch.setattr(stacks, "stack_pointer", lambda text: None)
    monkeypatch.setattr(stacks.time, "sleep", lambda seconds: None)
    reading = stacks.thread_stacks(process.pid)
    assert (reading.threads, reading.placed, reading.resident_bytes) == (1, 0, 0)


def test_pointers_are_matched_to_mappings_and_a_shared_mapping_counts_once():
    mappings = [mapping(100, 200, 8), mapping(300, 400, 16), mapping(400, 500, 32)]
    found, placed = stacks.place([150, 100, 399, 200, 250, 99, 500], mappings)
    assert found == mappings[:2]
    assert placed == 3


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        (b"202 0x7fd8ec000b70 0x189 0x0 0x0 0x0 0xffffffff 0x7fd8f42fe8c0 0x7fd8f52a3f16\n", 0x7FD8F42FE8C0),
        (b"-1 0x7ffc35ad0a20 0x7fd8f53162ec\n", 0x7FFC35AD0A20),
        (b"running\n", None),
        (b"", None),
    ],
)
def test_the_stack_pointer_is_the_last_but_one_word(text, pointer):
    assert stacks.stack_pointer(text) == pointer


@linux_only
def test_what_may_not_be_seen_is_none_with_a_reason(child):
    def forbidden(pid):
        raise PermissionError(13, "Permission denied")

    process, _ = child(
        "import threading\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "print('up', flush=True); threading.Event().wait()\n"
    )
    reading = stacks.thread_stacks(process.pid, forbidden)
    assert (reading.threads, reading.reserved_bytes, reading.resident_bytes) == (1, None, None)
    assert "Permission denied" in reading.reason


@pytest.mark.parametrize("linux", [True, False])
def test_a_process_that_is_gone_raises(child, monkeypatch, linux):
    process, _ = child("print('up', flush=True)")
    process.wait()
    monkeypatch.setattr(stacks, "LINUX", linux)
    with pytest.raises(ProcessLookupError):
        stacks.thread_stacks(process.pid)


def test_without_linux_the_threads_are_counted_and_the_rest_has_a_reason(monkeypatch):
    monkeypatch.setattr(stacks, "LINUX", False)
    reading = stacks.thread_stacks(os.getpid())
    assert reading.threads >= 0
    assert reading.reserved_bytes is None
    assert reading.reason
