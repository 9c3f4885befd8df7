"""Acceptance cases that need a run: C3, D1, D5, E1."""

import resource
from pathlib import Path

import pytest

from commands import records, run
from streamlanes.backends import default_width

SMALL = ["--set", "ttft_ms=20", "--set", "gap_ms=10", "--set", "tokens=4"]
INFINITY = resource.RLIM_INFINITY


def test_c3_a_low_soft_limit_is_raised_and_said(tmp_path: Path):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    done = run(
        *"run -b asyncio -c streams -n 500 -w lesson --json".split(),
        cwd=tmp_path,
        limits={resource.RLIMIT_NOFILE: (256, hard)},
    )
    assert done.returncode == 0, done.stderr
    (made,) = records(done)
    assert made["status"]["name"] == "ok"
    assert made["counts"]["ok"] == 500
    assert "open files 256 -> " in done.stderr


def test_c3_a_low_hard_limit_skips_that_cell_with_the_command_and_keeps_the_others(tmp_path: Path):
    limits = {resource.RLIMIT_NOFILE: (256, 256)}
    command = [
        "run",
        "-b",
        "asyncio,threads",
        "-c",
        "streams",
        "-n",
        "50,500",
        "-w",
        "lesson",
        *SMALL,
        "--json",
    ]
    done = run(*command, cwd=tmp_path, limits=limits)
    assert done.returncode == 0, done.stderr
    by_size = {(each["cell"]["backend"], each["cell"]["calls"]): each["status"] for each in records(done)}
    assert len(by_size) == 4
    for backend in ("asyncio", "threads"):
        assert by_size[backend, 50]["name"] == "ok"
        assert by_size[backend, 500]["name"] == "unsupported"
        assert by_size[backend, 500]["reason"].startswith("nofile")
        assert "ulimit -Hn" in by_size[backend, 500]["reason"]
    (page,) = tmp_path.glob("results/runs/*/report/index.html")
    assert "nofile" in page.read_text()
    only = run("run", "-b", "asyncio", "-c", "streams", "-n", "500", "--json", cwd=tmp_path, limits=limits)
    assert only.returncode == 4, "no cell was measured"


@pytest.mark.parametrize("backend", ["asyncio", "uvloop"])
def test_d1_early_timers_are_kept_and_reported(tmp_path: Path, backend: str):
    settings = [part for axis in ("tokens=60", "gap_ms=10.4") for part in ("--set", axis)]
    for attempt in range(3):
        out = str(tmp_path / str(attempt))
        done = run(
            "run", "-b", backend, "-c", "timer", "-n", "1", *settings, "--json", "--out", out, cwd=tmp_path
        )
        (made,) = records(done)
        late, stream = made["latency"]["lateness_ms"], made["latency"]["stream_ms"]
        assert late["count"] == 60
        if backend == "asyncio":
            assert stream["min"] >= -0.05
            return
        on_time = made["latency"]["start_lag_ms"]["max"] == 0
        if on_time and late["early_share"] > 0:  # on a starved machine nothing is early: then once more
            assert late["min"] < 0
            assert late["min"] == stream["min"]
            return
    pytest.fail("uvloop was never early: a clamp, or three starved runs")


def test_d5_a_pool_states_its_width_and_its_waves(tmp_path: Path):
    blocking = [part for axis in ("ttft_ms=100", "tokens=1", "gap_ms=0.001") for part in ("--set", axis)]
    command = ["run", "-c", "timer", "-n", "48", "-w", "lesson", *blocking, "--json"]
    done = run(*command, "-b", "asyncio+to_thread", "--set", "width=6,32", cwd=tmp_path)
    found = {each["cell"]["axes"]["width"]: each for each in records(done)}
    for width, waves, predicted in ((6, 8, 0.8), (32, 2, 0.2)):
        made = found[width]
        (bounded,) = [flag for flag in made["flags"] if flag["name"] == "bounded"]
        assert bounded["evidence"] == {"width": width, "waves": waves}
        assert made["time"]["predicted_wall_s"] == pytest.approx(predicted, rel=0.01)
        assert made["time"]["wall_s"] >= predicted * 0.99
        assert made["interpreter"]["width"] == width
        assert made["counts"]["peak_in_flight"] == made["counts"]["in_flight_target"] == width
    (wide,) = records(run(*command, "-b", "thread-pool", "--set", "width=48", cwd=tmp_path))
    assert wide["counts"]["peak_in_flight"] == 48
    assert [flag for flag in wide["flags"] if flag["name"] == "bounded"] == []


def test_d5_the_library_default_width_is_resolved(tmp_path: Path):
    done = run(*"run -b asyncio+to_thread -c timer -n 4 -w lesson --json".split(), *SMALL, cwd=tmp_path)
    (made,) = records(done)
    assert made["cell"]["axes"]["width"] == default_width("asyncio+to_thread")


def test_e1_threads_that_the_system_refuses_end_the_ramp_and_the_next_cell_runs(tmp_path: Path):
    address_space = 2_000_000 * 1024
    done = run(
        *"run -b threads,asyncio -c timer -n 500 -w lesson --json".split(),
        cwd=tmp_path,
        limits={resource.RLIMIT_AS: (address_space, INFINITY)},
    )
    assert done.returncode == 0, done.stderr
    found = {each["cell"]["backend"]: each for each in records(done)}
    assert found["threads"]["status"]["name"] == "unsupported"
    assert 0 < found["threads"]["status"]["reached"] < 500
    assert "can't start new thread" in found["threads"]["status"]["reason"]
    assert found["threads"]["time"]["wall_s"] is None
    assert found["threads"]["latency"]["lateness_ms"]["p50"] is None
    assert found["asyncio"]["status"]["name"] == "ok"
    assert found["asyncio"]["counts"]["ok"] == 500
    small = run(
        *"run -b threads -c timer -n 500 -w lesson --set stack_kib=256 --json".split(),
        cwd=tmp_path,
        limits={resource.RLIMIT_AS: (address_space, INFINITY)},
    )
    (made,) = records(small)
    assert made["cell"]["axes"]["stack_kib"] == 256
    assert made["status"]["name"] in ("ok", "unsupported"), "both are shown"
