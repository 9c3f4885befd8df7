"""The public traces, where the project stands beside them; never committed."""

from pathlib import Path

import pytest

from streamlanes import traces
from streamlanes.workload.trace import Trace

FOLDER = Path(__file__).parents[2] / "shared" / "traces"


def shared(name: str) -> Trace:
    """The trace of this name, read; the test is skipped where it is not there."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{path.name} is not beside the repository")
    return traces.read(str(path))
