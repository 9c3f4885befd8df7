"""What all benchmarks share: figures beside the timings, long ones left out unless asked for.

`make microbench` times everything but the long ones; `make microbench TEST_ARGS="-m long"` those alone.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

if TYPE_CHECKING:
    from timing import Note

HERE = Path(__file__).parent
sys.path.append(str(HERE))  # the helpers here are imported by their bare name

AWAKE_S = 0.1
"""Work before the first timing: a CPU that idled takes most of this to come to its full speed."""

NOTES = pytest.StashKey[dict[str, dict[str, object]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes minutes; run only when asked for with -m long")
    config.stash[NOTES] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A table a file; the long ones left out, unless -m or the name of a test says what is wanted."""
    ours = [item for item in items if item.path.parent == HERE]
    for item in ours:
        item.add_marker(pytest.mark.benchmark(group=item.path.stem.removeprefix("test_")))
    if config.option.markexpr or any("::" in arg for arg in config.args):
        return
    long = [item for item in ours if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The figures, which pytest-benchmark writes into its JSON only."""
    notes = config.stash[NOTES]
    if not notes:
        return
    terminalreporter.section("figures")
    for name, figures in notes.items():
        terminalreporter.write_line(name)
        terminalreporter.write_line("    " + "  ".join(f"{key}={value}" for key, value in figures.items()))


@pytest.fixture
def note(benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> "Note":
    """Put figures beside a benchmark: into its extra_info and into the summary."""

    def add(**figures: object) -> None:
        benchmark.extra_info.update(figures)
        if benchmark.enabled:
            request.config.stash[NOTES].setdefault(request.node.name, {}).update(figures)

    return add


@pytest.fixture
def awake(benchmark: BenchmarkFixture) -> None:
    """Bring the CPU to its full speed; nothing to do where nothing is timed."""
    until = time.perf_counter() + (AWAKE_S if benchmark.enabled else 0.0)
    while time.perf_counter() < until:
        pass


@pytest.fixture(scope="session")
def importable() -> Iterator[None]:
    """Let measured processes import this folder: their job may be one of bare.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
        yield
