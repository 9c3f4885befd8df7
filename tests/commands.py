"""The command line as a person runs it: a process of its own, and what it left behind."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

ARGV = [sys.executable, "-c", "from streamlanes.cli import main; main()"]


def limited(limits: dict[int, tuple[int, int]]) -> Any:
    """A preexec function that sets resource limits in the command alone."""

    def apply() -> None:
        for which, (soft, hard) in limits.items():
            resource.setrlimit(which, (soft, hard))

    return apply


def run(
    *args: str, cwd: Path, limits: dict[int, tuple[int, int]] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*ARGV, *args],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        preexec_fn=limited(limits) if limits else None,
    )


def records(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """The records that --json printed; anything else on standard output is an error."""
    return [json.loads(line) for line in done.stdout.splitlines()]


def started(*args: str, cwd: Path) -> subprocess.Popen[str]:
    """Start the command and go on; its folder names its processes (see `left_behind`)."""
    return subprocess.Popen(
        [*ARGV, *args], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def left_behind(cwd: Path, wait_s: float = 20.0) -> Sequence[str]:
    """Processes whose working folder is `cwd`, once all have had time to go: launcher, cells,
    providers and pool workers inherit the command's."""
    until = time.monotonic() + wait_s
    while True:
        found = []
        for process in psutil.process_iter():
            try:
                if process.pid != os.getpid() and process.cwd() == str(cwd):
                    found.append(f"{process.pid} {' '.join(process.cmdline())} {process.status()}")
            except psutil.Error:
                continue
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def end(process: subprocess.Popen[str], how: signal.Signals) -> tuple[int, str]:
    """Signal the command; its exit code and what it said on standard error."""
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors
