"""`make test-all`: which interpreters it finds, and that it leaves out what it cannot set up. Nothing is
installed here."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("awk") is None, reason="needs make and awk"
)


def make(*args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run make on its own, whatever make runs the tests."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    return subprocess.run(
        ["make", "-s", *args, *(f"{name}={value}" for name, value in variables.items())],
        cwd=ROOT,
        env={**environment, "PYENV_ROOT": variables.get("PYENV_ROOT", "/nowhere")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def fake(path: Path, text: str) -> str:
    """An executable that answers the same whatever it is asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_one_interpreter_of_each_version_is_found_by_name_and_in_pyenvs_folder(tmp_path: Path):
    names = [
        fake(tmp_path / "python3.12", "echo 3.12 /a/python3.12"),
        fake(tmp_path / "shim", "echo 'pyenv: not active' >&2; exit 127"),
        fake(tmp_path / "old", "exit 1"),
        fake(tmp_path / "python3", "echo 3.11 /b/python3.11"),
        str(tmp_path / "nowhere"),
    ]
    fake(tmp_path / "pyenv/versions/3.12.9/bin/python", "echo 3.12 /c/python3.12")
    fake(tmp_path / "pyenv/versions/3.13.0t/bin/python", "echo 3.13t /c/python3.13t")
    fake(tmp_path / "pyenv/versions/3.13.0/bin/python", "echo 3.13 /c/python3.13")
    found = make("pythons", ALL_PYTHONS=" ".join(names), PYENV_ROOT=str(tmp_path / "pyenv"))
    assert sorted(found.stdout.splitlines()) == [
        "3.11 /b/python3.11",
        "3.12 /a/python3.12",
        "3.13 /c/python3.13",
        "3.13t /c/python3.13t",
    ]
    assert [line.split(".")[1][:2] for line in found.stdout.splitlines()] == ["11", "12", "13", "13"]
    assert found.stderr == ""


def test_a_real_interpreter_says_its_version_and_its_real_path():
    found = make("pythons", ALL_PYTHONS=sys.executable)
    version = f"{sys.version_info.major}.{sys.version_info.minor}{sys.abiflags}"
    assert found.stdout == f"{version} {os.path.realpath(sys.executable)}\n"


def test_one_that_cannot_be_set_up_is_skipped_in_a_line_and_testing_none_is_an_error(tmp_path: Path):
    python = fake(tmp_path / "python3.99", f"[ $# = 2 ] && echo 3.99 {tmp_path}/python3.99")
    done = make("test-all", ALL_PYTHONS=python)
    assert done.returncode != 0
    skipped = [line for line in done.stdout.splitlines() if "skipping" in line]
    assert len(skipped) == 1
    assert skipped[0].startswith("test-all: skipping CPython 3.99, its environment cannot be made")
    assert "no CPython 3.11 or newer could be tested" in done.stderr
    shutil.rmtree(ROOT / ".venv-3.99", ignore_errors=True)


def test_no_interpreter_at_all_is_one_line():
    done = make("test-all", ALL_PYTHONS="/nowhere/python3")
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.splitlines()[0] == "test-all: no CPython 3.11 or newer could be tested"
