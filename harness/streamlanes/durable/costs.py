"""What keeping steps costs below Python: syncs, bytes, room, and how long a sync takes on this disk."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from streamlanes.durable.vfs import Watch

LOOKS = 200
LOOK_S = 0.5
"""A look at the disk ends after so many syncs or so long, whichever comes first."""
PAGE = 4096


@dataclass(frozen=True, slots=True)
class Cost:
    """Counted up to now; None where the system does not say. stored_bytes: the room that is taken now."""

    syncs: int | None
    written_bytes: int | None
    stored_bytes: int | None


class Costs(Protocol):
    """How a store's costs are read. settle_s: how long what was counted may take to show."""

    settle_s: float

    def read(self) -> Cost: ...

    def facts(self) -> dict[str, object]:
        """What the store runs with, as it says itself."""


class FileCosts:
    """Of a file of SQLite that this process writes: syncs as its VFS counts them, bytes as the kernel counts
    those given to write calls. The log's index is mapped memory and not among them."""

    settle_s = 0.0

    def __init__(self, path: Path, watch: "Watch | None") -> None:
        self._path = path
        self._watch = watch

    def read(self) -> Cost:
        """Now."""
        files = self._path.parent.glob(f"{self._path.name}*")
        stored = sum(each.stat().st_size for each in files if not each.name.endswith("-shm"))
        return Cost(self._watch.syncs if self._watch else None, written_bytes(), stored)

    def facts(self) -> dict[str, object]:
        """The version of SQLite."""
        import sqlite3

        return {"sqlite": sqlite3.sqlite_version}


def written_bytes() -> int | None:
    """Bytes that this process gave to write calls; None where the system does not count them."""
    try:
        text = Path("/proc/self/io").read_text()
    except OSError:
        return None
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("wchar")))


def sync_us(folder: Path) -> list[float]:
    """How long a sync takes in this folder after a page of writing, microseconds, each look."""
    took: list[float] = []
    path = folder / "sync-look"
    until = time.monotonic() + LOOK_S
    with open(path, "wb", buffering=0) as file:
        while len(took) < LOOKS and time.monotonic() < until:
            file.write(b"x" * PAGE)
            began = time.perf_counter_ns()
            os.fsync(file.fileno())
            took.append((time.perf_counter_ns() - began) / 1000)
    path.unlink()
    return took
