"""Where an act plays, for tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streamlanes.children import Launcher
from streamlanes.demo.figures import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    launcher = Launcher()
    folder = tmp_path / "stage"
    folder.mkdir()
    try:
        yield Stage(folder, launcher, crash_at=4, calls=20)
    finally:
        launcher.close()
