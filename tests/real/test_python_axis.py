"""Cells under an interpreter other than the run's, which has no package installed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import left_behind, records, run
from streamlanes.children import Child, Launcher

SMALL = ["-n", "5", "-w", "lesson", "--set", "ttft_ms=20", "--set", "gap_ms=10", "--set", "tokens=4"]
SAYS = "import os, sys; print(os.path.realpath(sys.executable), '%d.%d.%d' % sys.version_info[:3])"


def candidates() -> Iterator[str]:
    for minor in range(11, 16):
        yield f"python3.{minor}"
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from map(str, sorted(versions.glob("3.1[1-9]*/bin/python")))


def other_interpreters() -> dict[str, str]:
    """Path -> version of the CPythons from 3.11 on that are not the one running the tests."""
    found: dict[str, str] = {}
    for name in candidates():
        try:
            done = subprocess.run([name, "-c", SAYS], capture_output=True, text=True, timeout=20, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        path, version = done.stdout.split()
        if path != os.path.realpath(sys.executable) and version not in found.values():
            found[path] = version
    return found


OTHERS = other_interpreters()
none_here = pytest.mark.skipif(
    not OTHERS, reason="no CPython 3.11 or newer besides the tests' own found here"
)


@none_here
@pytest.mark.parametrize("backend", ["asyncio", "processes+threads", "process-pool"])
def test_a_cell_runs_under_every_other_interpreter_and_no_path_is_published(tmp_path: Path, backend: str):
    given = ",".join(OTHERS)
    extra = ["--set", "start_method=spawn"] if backend != "asyncio" else []
    done = run(
        *["run", "-b", backend, "-c", "streams", *SMALL, *extra, "--set", f"python={given}", "--json"],
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    made = records(done)
    assert len(made) == len(OTHERS)
    for each in made:
        assert each["status"]["name"] == "ok", each["status"]
        assert each["counts"]["ok"] == 5
        assert each["counts"]["tokens"] == 20
        version = each["interpreter"]["python"]
        assert version in OTHERS.values()
        assert each["cell"]["axes"]["python"].split("-")[0] == version
        assert f"python=cpython-{version}" in each["cell"]["id"]
        # It may load packages of its own at start; those of the parent it must not.
        assert not {"numpy", "msgspec", "psutil", "typer"} & set(each["interpreter"]["modules"])
        assert each["memory"]["bare_bytes"] > 0, "compared with its own bare interpreter"
    (folder,) = (tmp_path / "results/runs").iterdir()
    for path in OTHERS:
        assert path in done.stderr, "the person sees which is which"
        for file in ("run.json", "records.jsonl"):
            assert path not in (folder / file).read_text()
            assert os.path.dirname(path) not in (folder / file).read_text()
    assert set(json.loads((folder / "run.json").read_text())["profile"]["pythons"]) == {
        each["cell"]["id"].split("python=")[1].split("/")[0] for each in made
    }
    assert left_behind(tmp_path) == []


def test_children_import_the_package_without_its_neighbours():
    """The packages beside it were built for the run's interpreter, not for the one under test."""
    launcher = Launcher()
    program = "import json, os; print(json.dumps(os.environ['PYTHONPATH'].split(os.pathsep)[0]))"
    child = Child(launcher, [sys.executable, "-c", program], None)
    root = Path(str(child.hear(30)))
    assert [each.name for each in root.iterdir()] == ["streamlanes"]
    assert (root / "streamlanes/cell.py").is_file()
    child.end()
    launcher.close()
    assert not root.exists()


def test_interpreters_that_cannot_run_it_end_as_unsupported_and_the_others_are_measured(tmp_path: Path):
    old = tmp_path / "old"
    answer = {"implementation": "CPython", "version": "3.10.13", "free_threaded": False}
    answer |= {"build": "", "identity": "", "lacks": {}}
    old.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    old.chmod(0o755)
    given = f"python={tmp_path}/nowhere,{old},{sys.executable}"
    done = run(*["run", "-b", "asyncio", "-c", "timer", *SMALL, "--set", given, "--json"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    reasons: dict[str, list[str | None]] = {}
    for each in records(done):
        reasons.setdefault(each["status"]["name"], []).append(each["status"]["reason"])
    assert reasons["ok"] == [None]
    what_to_do = "; name another with: --set python=/path/to/python3"
    assert sorted(reasons["unsupported"]) == [
        f"CPython 3.10.13 is too old, 3.11 or newer is needed{what_to_do}",
        f"the interpreter is not there or cannot be executed{what_to_do}",
    ]
    (folder,) = (tmp_path / "results/runs").iterdir()
    assert str(tmp_path) not in (folder / "records.jsonl").read_text() + (folder / "run.json").read_text()
    only = run(
        *["run", "-b", "asyncio", "-c", "timer", *SMALL, "--set", f"python={tmp_path}/nowhere"], cwd=tmp_path
    )
    assert only.returncode == 4, "no cell was measured"
