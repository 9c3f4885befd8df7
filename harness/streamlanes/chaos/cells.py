"""`streamlanes run` under kill -9: no finished cell repeated, none lost."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-c", "from streamlanes.cli import main; main()", "run"]
BACKENDS = ("asyncio", "threads")
CELLS = ["-b", ",".join(BACKENDS), "-c", "timer", "-n", "20", "-w", "lesson"]
TINY = ["--set", "ttft_ms=20", "--set", "gap_ms=20", "--set", "tokens=5"]
LATEST_S = 0.8
"""Longest wait between a record and the kill: into the middle of the next cell."""
LIMIT_S = 240.0
MOST_BEGUN = 5
"""Runs begun for each kill that is wanted, at most: a run that cannot start is never met alive."""


@dataclass(frozen=True)
class CellsKilled:
    """What runs came to that were killed and started again.

    wanted: kills that were asked for. kills: SIGKILLs that met a living run. runs: folders that were
    finished. repeated: cells with more than one record. lost: cells without one, and records that were there
    before a kill and not after. last_words: of the last run, on standard error.
    """

    wanted: int
    kills: int
    runs: int
    cells: int
    repeated: int
    lost: int
    last_words: str = ""

    @property
    def passed(self) -> bool:
        """Whether all kills happened, every cell has exactly one record, and every record stayed."""
        whole = self.kills >= self.wanted and self.cells == self.runs * len(BACKENDS)
        return whole and not (self.repeated or self.lost)


def run_killed(kills: int, folder: Path, seed: int, tell: Callable[[int, int], None]) -> CellsKilled:
    """Kill runs so many times, each as often as it lives, until MOST_BEGUN times as many were begun. tell:
    called with kills and records so far.
    """
    draw = random.Random(seed)
    struck = runs = cells = repeated = lost = 0
    while (struck < kills or runs == 0) and runs < MOST_BEGUN * kills:
        out = folder / f"run{runs}"
        finished = False
        while not finished:
            before = _ids(out)
            if struck < kills:
                target, wait_s = draw.randrange(len(BACKENDS)), draw.uniform(0.0, LATEST_S)
                finished = not _killed(out, max(target, len(before)), wait_s)
                struck += not finished
            else:
                finished = _finished(out)
            after = _ids(out)
            lost += len(before) - sum(one == other for one, other in zip(before, after, strict=False))
            tell(struck, len(after))
        ids = _ids(out)
        runs += 1
        cells += len(set(ids))
        repeated += len(ids) - len(set(ids))
        lost += len(BACKENDS) - len(set(ids))
    return CellsKilled(kills, struck, runs, cells, repeated, lost, _last_words(folder / f"run{runs - 1}"))


def _killed(out: Path, records: int, wait_s: float) -> bool:
    """Start the run and kill it `wait_s` after it has so many records; False where it ended before."""
    process = _started(out)
    until = time.monotonic() + LIMIT_S
    while process.poll() is None and len(_ids(out)) < records and time.monotonic() < until:
        time.sleep(0.005)
    try:
        process.wait(wait_s)
        return False
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return True


def _finished(out: Path) -> bool:
    """Let the run come to its end. One that does not counts as lost cells."""
    process = _started(out)
    try:
        process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return True


def _started(out: Path) -> "subprocess.Popen[bytes]":
    with open(_errors(out), "wb") as errors:
        return subprocess.Popen(
            [*COMMAND, *CELLS, *TINY, "--out", str(out)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


def _errors(out: Path) -> Path:
    """Where what the latest run of a folder says on standard error is kept."""
    return out.with_name(f"{out.name}.err")


def _last_words(out: Path) -> str:
    """The last line of that."""
    path = _errors(out)
    lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1].strip() if lines else ""


def _ids(out: Path) -> list[str]:
    """Cells with a whole record, in their order."""
    path = out / "records.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line)["cell"]["id"] for line in lines]
