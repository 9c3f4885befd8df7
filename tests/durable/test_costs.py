"""What keeping steps costs below Python, as it is counted."""

from pathlib import Path

import pytest

from durable_rows import claimed, row
from streamlanes.durable.checkpoints import Checkpoints
from streamlanes.durable.costs import LOOKS, Cost, FileCosts, sync_us, written_bytes
from streamlanes.durable.sqlite import SQLite
from streamlanes.durable.vfs import Unavailable, Watch


def test_a_look_at_the_disk_leaves_nothing(tmp_path: Path):
    took = sync_us(tmp_path)
    assert 1 <= len(took) <= LOOKS
    assert min(took) > 0
    assert list(tmp_path.iterdir()) == []


def test_syncs_and_bytes_of_a_file_are_counted(tmp_path: Path):
    try:
        watch = Watch()
    except Unavailable as why:
        pytest.skip(f"not tested: {why}")
    path = tmp_path / "s.db"
    database = SQLite(path, vfs=watch.name)
    store, lease, costs = Checkpoints(database), claimed(database), FileCosts(path, watch)
    before = costs.read()
    for step in range(5):
        store.append(lease, row(step, "a", b"x" * 1000)).result()
    after = costs.read()
    assert after.syncs is not None
    assert before.syncs is not None
    assert after.syncs - before.syncs >= 5, "each of these waited for a commit of its own"
    if written_bytes() is not None:
        assert after.written_bytes is not None
        assert before.written_bytes is not None
        assert after.written_bytes - before.written_bytes > 5000
    sizes = [each.stat().st_size for each in tmp_path.iterdir() if not each.name.endswith("-shm")]
    assert after.stored_bytes == sum(sizes) > 5000
    assert "sqlite" in costs.facts()
    database.close()


def test_without_a_watch_syncs_are_not_known(tmp_path: Path):
    (tmp_path / "s.db").write_bytes(b"12345")
    found = FileCosts(tmp_path / "s.db", None).read()
    assert found == Cost(None, found.written_bytes, 5)
