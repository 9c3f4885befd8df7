"""The notebook runs as it stands, from wherever it is opened, and is committed without what it printed."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from records import record
from streamlanes.record import Record, StatusName, encode

ROOT = Path(__file__).parent.parent
PATH = ROOT / "notebooks" / "explore.ipynb"
NOTEBOOK: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))


def code() -> list[dict[str, Any]]:
    return [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def played(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Every code cell in turn, in one namespace, as if the notebook were opened in this folder."""
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    for cell in code():
        exec(compile("".join(cell["source"]), f"{PATH.name}, cell {cell['id']}", "exec"), names)
    return names


def figures(**late: float) -> dict[str, float]:
    return {
        "latency.stream_ms.p99": late["p99"],
        "latency.stream_ms.p50": late["p50"],
        "latency.provider_ms.p50": late["provider"],
        "latency.client_ms.p50": late["p50"] - late["provider"],
        "memory.per_call_bytes": 6144,
        "memory.kernel_per_call_bytes": 8192,
    }


def few() -> list[Record]:
    """A run of two backends at two sizes, one of them twice; a sweep, a stopped cell, another client."""
    slow, fast = figures(p99=8.0, p50=2.0, provider=0.5), figures(p99=2.0, p50=1.0, provider=0.75)
    return [
        record("asyncio", 500, figures=fast),
        record("asyncio", 2000, 1, figures=slow),
        record("asyncio", 2000, 2, figures=slow | {"latency.stream_ms.p99": 10.0}),
        record("uvloop", 500, figures=fast),
        record("uvloop", 2000, figures=fast),
        record("uvloop", 2000, axes={"gc": "freeze"}, figures=slow),
        record("threads", 2000, status=StatusName.OVER_BUDGET, figures={"memory.per_call_bytes": 30720}),
        record("uvloop", 10000, client="floor", figures=fast),
    ]


@pytest.fixture(autouse=True)
def drawing() -> Any:
    """Draw into memory, and leave no figure behind."""
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A repository's root with a run in it."""
    folder = tmp_path / "results" / "runs" / "20260101T000000Z-quick"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    (folder / "records.jsonl").write_bytes(b"".join(map(encode, few())))
    (tmp_path / "results" / "latest").symlink_to(Path("runs") / folder.name)
    (tmp_path / "notebooks").mkdir()
    return tmp_path


def test_it_is_committed_without_outputs():
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) == (4, 5)
    assert len(code()) >= 4
    assert [(cell["outputs"], cell["execution_count"]) for cell in code()] == [([], None)] * len(code())
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])
    assert all(cell["metadata"] == {} for cell in NOTEBOOK["cells"])
    assert set(NOTEBOOK["metadata"]) == {"kernelspec", "language_info"}


@pytest.mark.parametrize("folder", ["", "notebooks"])
def test_it_draws_what_the_newest_run_holds(
    folder: str, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    names = played(run / folder, monkeypatch)
    late, memory = (plt.figure(number).axes[0] for number in plt.get_fignums())
    lines = {line.get_label(): [list(line.get_xdata()), list(line.get_ydata())] for line in late.lines}
    assert lines == {"asyncio": [[500, 2000], [2.0, 9.0]], "uvloop": [[500, 2000], [2.0, 2.0]]}
    kib = {
        name.get_text(): bar.get_width()
        for name, bar in zip(memory.get_yticklabels(), memory.patches, strict=False)
    }
    assert kib == {"asyncio": 6.0, "threads": 30.0, "uvloop": 6.0}
    share = names["late"]["provider's share"].to_dict()
    assert share == {
        (500, "asyncio"): 0.75,
        (500, "uvloop"): 0.75,
        (2000, "asyncio"): 0.25,
        (2000, "uvloop"): 0.75,
    }
    first, answer = capsys.readouterr().out.splitlines()
    assert first == "20260101T000000Z-quick: 8 records, 6 of streams and steady"
    assert answer == "Of the median token's lateness about 25% to 75% is the provider's."


@pytest.mark.parametrize("folder", ["", "notebooks"])
def test_it_takes_the_published_run_where_nothing_was_measured(
    folder: str, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (run / "results" / "latest").unlink()
    (run / "results" / "published").symlink_to(ROOT / "results" / "published")
    names = played(run / folder, monkeypatch)
    assert len(plt.get_fignums()) == 2
    assert names["run"].folder.parent.parent.name == "published"
    assert (names["late"]["provider's share"] > 0).all()
    assert "is the provider's" in capsys.readouterr().out
