"""Power loss on SQLite: files are built from what was synced, and opened again.

A killed process is no power loss: the system keeps what it wrote. Here every write and sync is
recorded at SQLite's own border, and the files as they would be found are put together for many moments:
while the log grows, while it is copied into the file, and after it began anew.
"""

import random
from concurrent.futures import Future
from pathlib import Path

import pytest

from durable_rows import claimed, row
from streamlanes.durable import backfill, sqlite
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.sqlite import SQLite, Synchronous
from streamlanes.durable.values import Checkpoint
from streamlanes.durable.vfs import Event, Kind, Unavailable, Watch, after_power_loss

STEPS = 120
MOMENTS = 40
GROUP = 4
"""Most steps in a commit, so that there are some thirty to lose the power in."""


@pytest.fixture
def copying_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is copied into the file, and begins anew, many times within the recording."""
    monkeypatch.setattr(backfill, "EVERY", 20)
    monkeypatch.setattr(sqlite, "LEFT_TO_THE_WRITER", 16)


def watching(**how: object) -> Watch:
    try:
        return Watch(**how)
    except Unavailable as why:
        pytest.skip(f"power loss not tested: {why}")


def recorded(
    tmp_path: Path, synchronous: Synchronous
) -> tuple[dict[str, bytes], list[Event], list[tuple[int, int]]]:
    """The files at the beginning, the recording, and how long it was when each step was acknowledged."""
    SQLite(tmp_path / "s.db").close()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    watch = watching(recording=True)
    database = SQLite(tmp_path / "s.db", synchronous=synchronous, group=GROUP, vfs=watch.name)
    store, lease = Checkpoints(database), claimed(database)
    acknowledged: list[tuple[int, int]] = []

    def note(future: "Future[Checkpoint]") -> None:
        acknowledged.append((len(watch.events), future.result().step))

    pending = []
    for step in range(STEPS):
        future = store.append(lease, row(step, "a", b"%d" % step * 200))
        future.add_done_callback(note)
        pending.append(future)
        if step % 3 == 2:
            pending.pop(0).result()
    for future in pending:
        future.result()
    events = list(watch.events)
    database.close()
    return before, events, acknowledged


def found(files: dict[str, bytes], folder: Path) -> int:
    """Steps that are there when the machine is up again."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    database = SQLite(folder / "s.db")
    steps = [one.step for one in Checkpoints(database).history("a")]
    database.close()
    assert steps == list(range(len(steps))), "no hole"
    return len(steps)


def lost(tmp_path: Path, synchronous: Synchronous, torn: bool) -> int:
    """Acknowledged steps that are not there, over many moments of power loss."""
    before, events, acknowledged = recorded(tmp_path, synchronous)
    draw = random.Random(1)
    missing = 0
    for number in range(MOMENTS):
        moment = draw.randrange(len(events) + 1)
        files = after_power_loss(before, events[:moment], draw if torn else None)
        promised = max((step + 1 for at, step in acknowledged if at <= moment), default=0)
        missing += max(0, promised - found(files, tmp_path / f"after{number}"))
    assert len(acknowledged) == STEPS
    written = [(event.file, event.place) for event in events if event.kind is Kind.WRITE]
    copied = [place for file, place in written if file == "s.db"]
    begun = [place for file, place in written if (file, place) == ("s.db-wal", 0)]
    assert copied, "the log was copied into the file"
    assert len(begun) > 1, "and began anew"
    return missing


@pytest.mark.usefixtures("copying_often")
@pytest.mark.parametrize("torn", [False, True], ids=["unsynced writes gone", "unsynced writes torn"])
def test_full_keeps_every_step_it_acknowledged(tmp_path: Path, torn: bool):
    assert lost(tmp_path, Synchronous.FULL, torn) == 0


@pytest.mark.usefixtures("copying_often")
def test_normal_loses_steps_and_says_so_in_its_name(tmp_path: Path):
    """The control: if this loses nothing, the test above shows nothing."""
    assert lost(tmp_path, Synchronous.NORMAL, torn=False) > 0


def test_every_sync_is_counted(tmp_path: Path):
    watch = watching()
    database = SQLite(tmp_path / "s.db", group=1, vfs=watch.name)
    store, lease = Checkpoints(database), claimed(database)
    before = watch.syncs
    for step in range(10):
        store.append(lease, row(step)).result()
    assert watch.syncs - before == 10
    database.close()


def test_a_loss_keeps_what_was_synced_and_nothing_else():
    events = [
        Event(Kind.WRITE, "f", 0, b"aaaa"),
        Event(Kind.SYNC, "f", 1),
        Event(Kind.WRITE, "f", 2, b"bb"),
        Event(Kind.WRITE, "g", 0, b"cc"),
        Event(Kind.SYNC, "g", 4),
        Event(Kind.TRUNCATE, "g", 1),
    ]
    assert after_power_loss({}, events) == {"f": b"aaaa", "g": b"cc"}
    assert after_power_loss({}, [*events, Event(Kind.SYNC, "g", 6)]) == {"f": b"aaaa", "g": b"c"}
    late = [*events, Event(Kind.SYNC, "g", 5)]
    assert after_power_loss({}, late)["g"] == b"cc", "what came while it synced is not synced"
    assert after_power_loss({"f": b"old", "h": b"h"}, []) == {"f": b"old", "h": b"h"}
