"""Published charts are what the code draws from the published records today, byte for byte: the lock has one
version of what draws them for every interpreter, and the same run gives the same bytes."""

from pathlib import Path

import pytest

from streamlanes.publish import draw_charts
from streamlanes.report.load import load_run

PUBLISHED = Path(__file__).parent.parent / "results" / "published"
FOLDERS = sorted(path.parent for path in PUBLISHED.glob("*/*/records.jsonl"))


def charts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.svg")}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_published_charts_are_fresh(folder: Path, tmp_path: Path):
    draw_charts(load_run(folder), tmp_path)
    committed, drawn = charts(folder), charts(tmp_path)
    assert committed.keys() == drawn.keys()
    stale = [name for name, data in drawn.items() if data != committed[name]]
    assert stale == [], f"run `make publish RUN={folder.relative_to(PUBLISHED.parent.parent)}`"
