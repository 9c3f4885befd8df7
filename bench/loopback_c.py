"""The machine's floor: a C sender and a C reader of small chunks, if their source is on this machine."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

VARIABLE = "STREAMLANES_LOOPBACK_FLOOR"
BESIDE = Path(__file__).parents[2] / "shared" / "tools" / "loopback_floor.c"
"""Where the source is if the project stands beside it; it is never committed."""

GRACE_S = 60.0


@dataclass(frozen=True)
class Loopback:
    """One run: chunks sent and received, how many a second, and each side's CPU for one, microseconds."""

    chunks: int
    got_per_s: float
    send_us: float
    read_us: float


def build(into: Path) -> Path:
    """The program, compiled into this folder; skips the test where source or compiler is not there."""
    source = Path(os.environ.get(VARIABLE, BESIDE))
    if not source.is_file():
        pytest.skip(f"no {source.name} beside the repository, and {VARIABLE} names none")
    if shutil.which("cc") is None:
        pytest.skip(f"no C compiler (cc) for {source.name}")
    program = into / "loopback_floor"
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return program


def run(program: Path, streams: int, each: int, per_s: float, size: int) -> Loopback:
    """`each` chunks of `size` bytes on every stream, `per_s` a second in all. The reader ends when it has
    all bytes, and fails when none comes for five seconds."""
    done = subprocess.run(
        [program, str(streams), str(each), str(per_s), str(size)],
        stdout=subprocess.PIPE,
        check=True,
        timeout=streams * each / per_s + GRACE_S,
    )
    said = json.loads(done.stdout)
    assert (said["streams"], said["chunks"], said["chunk_bytes"]) == (streams, streams * each, size)
    return Loopback(said["chunks"], said["got_per_s"], said["send_us"], said["read_us"])
