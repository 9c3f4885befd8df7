import os
import sys
import time

import pytest

from streamlanes.probe import cpu


def test_counts_the_cpu_of_this_process_between_two_readings_of_its_own_clock():
    before = time.process_time_ns()
    seen = cpu.process_cpu_ns(os.getpid())
    after = time.process_time_ns()
    assert before <= seen <= after


def test_counts_the_cpu_of_another_process(child):
    process, used = child(
        "import time, sys\n"
        "while time.process_time_ns() < 20_000_000: pass\n"
        "print(time.process_time_ns(), flush=True)\n"
        "sys.stdin.read()"
    )
    assert cpu.process_cpu_ns(process.pid) >= int(used) >= 20_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="a zombie keeps its clock on Linux")
def test_a_zombie_keeps_its_final_value(child):
    process, _ = child("import os; print('up', flush=True); os._exit(0)")
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert cpu.process_cpu_ns(process.pid) > 0


@pytest.mark.parametrize("linux", [True, False])
def test_a_process_that_is_gone_raises(child, monkeypatch, linux):
    if linux and sys.platform != "linux":
        pytest.skip("the process clock of another process is Linux only")
    process, _ = child("print('up', flush=True)")
    pid = process.pid
    process.wait()
    monkeypatch.setattr(cpu, "LINUX", linux)
    with pytest.raises(ProcessLookupError, match=str(pid)):
        cpu.process_cpu_ns(pid)


def test_without_linux_psutil_is_asked(monkeypatch):
    monkeypatch.setattr(cpu, "LINUX", False)
    assert 0 < cpu.process_cpu_ns(os.getpid()) <= time.process_time_ns() + 20_000_000
