"""The CPU lane, real and small: the same vectors wherever they are made, and an end whatever documents do."""

import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import psutil
import pytest

import own_kernels
from commands import records, run
from streamlanes.cells import Axes, Cell
from streamlanes.cpu.texts import Texts
from streamlanes.hearing import CellEnded
from streamlanes.lanes.cpu import LANE
from streamlanes.process import Bench
from streamlanes.record import FlagName, Record, StatusName
from streamlanes.recording import record

DOCUMENTS, WORDS = 40, 30
DIGEST = "ab756aa073ac2664"
"""Of static-embed over these documents, everywhere."""
HERE = str(Path(own_kernels.__file__).parent)
BAD = [index for index in range(DOCUMENTS) if own_kernels.fails_at(Texts(1).document(index, WORDS))]


@pytest.fixture(scope="module")
def cpu_bench() -> Iterator[Bench]:
    """A bench whose cells find people's own kernels, and that looks at no ceiling."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", HERE, prepend=":")
        made = Bench(replace(LANE, beside=None), 128)
    yield made
    made.close()


def cell(backend: str = "asyncio", *, memory: bool = False, budget_s: float = 60, **axes: object) -> Cell:
    return Cell(
        lane="cpu",
        backend=backend,
        client="none",
        workload="documents",
        calls=DOCUMENTS,
        axes=Axes(tokens=WORDS, **{"workers": 2, **axes}),
        memory=memory,
        budget_s=budget_s,
    )


def measured(bench: Bench, what: Cell) -> Record:
    return record(what, LANE, {}, bench.measure(what))


@pytest.mark.parametrize(
    ("backend", "axes"),
    [
        ("uvloop", {"offload": "inline"}),
        ("asyncio", {"offload": "threads"}),
        ("asyncio", {"offload": "processes", "start_method": "fork"}),
        ("threads", {"offload": "processes", "start_method": "spawn"}),
        ("thread-pool", {"offload": "threads", "width": 3}),
    ],
)
def test_every_way_makes_the_same_vectors(cpu_bench: Bench, backend: str, axes: dict[str, object]):
    made = measured(cpu_bench, cell(backend, kernel="static-embed", **axes))
    assert made.status.name is StatusName.OK
    assert made.counts["ok"] == made.work["done"] == DOCUMENTS
    assert made.cpu["digest"] == DIGEST
    assert made.cpu["faults"] == made.cpu["worker_deaths"] == 0
    assert made.interpreter["blas_threads"] == 1
    assert made.work["per_s"] > 0
    assert made.cpu["kernel_us"] >= 0
    assert made.cell.axes["batch"] == made.interpreter["batch"]
    if axes["offload"] == "processes":
        assert made.interpreter["offload_workers"] == 2
        assert made.cell.axes["start_method"] == made.interpreter["start_method"]


def test_a_cell_of_pure_python_imports_no_library(cpu_bench: Bench):
    made = measured(cpu_bench, cell(kernel="hash-embed"))
    assert made.interpreter["modules"] == ["streamlanes"]


def test_the_trees_memory_is_read_at_the_end(cpu_bench: Bench):
    inline = measured(cpu_bench, cell(memory=True)).memory
    spread = measured(cpu_bench, cell(memory=True, offload="processes")).memory
    assert 0 < inline["bare_bytes"] < inline["plateau_pss_bytes"] < spread["plateau_pss_bytes"]


@pytest.mark.parametrize("offload", ["inline", "threads", "processes"])
def test_documents_fail_alone_whatever_is_raised(cpu_bench: Bench, offload: str):
    made = measured(cpu_bench, cell(kernel="own_kernels:cannot_come_back", offload=offload))
    assert made.status.name is StatusName.OK
    assert made.counts["job_error"] == made.cpu["faults"] == len(BAD) > 0
    assert made.counts["ok"] == DOCUMENTS - len(BAD)
    assert [int(index) for index in made.interpreter["faults"]] == BAD
    classes = {error.partition(":")[0] for error in made.interpreter["faults"].values()}
    assert classes <= {"Odd", "Unpicklable", "Silent"}
    assert [flag.name for flag in made.flags if flag.name is FlagName.FAILED_CALLS]
    assert made.cpu["digest"] is None


def test_a_worker_that_dies_takes_one_document_with_it(cpu_bench: Bench):
    made = measured(cpu_bench, cell(kernel="own_kernels:dies", offload="processes"))
    assert made.counts["job_error"] == len(BAD)
    assert made.counts["ok"] == DOCUMENTS - len(BAD)
    assert [int(index) for index in made.interpreter["faults"]] == BAD
    assert {error.partition(":")[0] for error in made.interpreter["faults"].values()} == {"WorkerDied"}
    assert made.cpu["worker_deaths"] >= len(BAD), "the sample before the run may have met some too"


def test_a_kernel_that_does_not_return_from_a_later_document_ends_with_the_budget(cpu_bench: Bench):
    what = cell(kernel="own_kernels:never_returns", offload="threads", budget_s=1.0)
    made = measured(cpu_bench, msgspec.structs.replace(what, calls=80))
    assert made.status.name is StatusName.OVER_BUDGET
    assert made.work["per_s"] is None
    assert "over the budget" in made.missing["work.per_s"]


def test_a_kernel_that_never_returns_inline_ends_with_the_parents_patience(
    cpu_bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("streamlanes.process.START_S", 1.5)
    with pytest.raises(CellEnded) as ended:
        cpu_bench.measure(cell(kernel="own_kernels:never_ends", offload="inline"))
    assert ended.value.status.name is StatusName.CRASHED
    told = "not ready after 1.5 s, with job CpuJob, kernel own_kernels:never_ends, offload inline"
    assert ended.value.status.reason == told
    assert not psutil.Process(cpu_bench.launcher.pid).children(), "it is killed"


@pytest.mark.parametrize("offload", ["threads", "processes"])
def test_a_kernel_that_never_returns_from_its_first_document_is_named(
    cpu_bench: Bench, monkeypatch: pytest.MonkeyPatch, offload: str
):
    monkeypatch.setattr(cpu_bench, "lane", replace(cpu_bench.lane, job="own_jobs:impatient"))
    with pytest.raises(CellEnded) as ended:
        cpu_bench.measure(cell(kernel="own_kernels:never_ends", offload=offload))
    assert ended.value.status.name is StatusName.CRASHED
    told = "KernelError: kernel own_kernels:never_ends had not returned after 0.5 s of one document"
    assert ended.value.status.reason == told
    assert not psutil.Process(cpu_bench.launcher.pid).children(recursive=True), "nobody waits for it"


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("nowhere_at_all:f", "does not import"),
        ("own_kernels:always_raises", "fails on every document: RuntimeError: never any good"),
        ("own_kernels:always_dies", "fails on every document: WorkerDied"),
    ],
)
def test_a_kernel_that_is_no_good_crashes_its_cell_with_its_reason(cpu_bench: Bench, kernel: str, words: str):
    with pytest.raises(CellEnded) as ended:
        cpu_bench.measure(cell(kernel=kernel, offload="processes"))
    assert ended.value.status.name is StatusName.CRASHED
    assert words in (ended.value.status.reason or "")


def test_the_command_compares_the_ways(tmp_path: Path):
    command = "run --lane cpu -n 40 --set tokens=30 --set offload=inline,processes --json"
    done = run(*command.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {each["cell"]["axes"]["offload"]: each for each in records(done)}
    assert set(found) == {"inline", "processes"}
    assert len({each["cpu"]["digest"] for each in found.values()}) == 1
    for each in found.values():
        assert each["counts"]["ok"] == 40
        assert each["cpu"]["ceiling"] > 0
        assert each["latency"] == {}, "there is no stream"
    assert "hash-embed under asyncio, 40 documents: inline" in done.stderr
    (page,) = tmp_path.glob("results/runs/*/report/index.html")
    assert (page.parent / "throughput.svg").is_file()


def test_the_command_takes_a_function_as_its_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", HERE, prepend=":")
    command = "run --lane cpu --call own_kernels:good -n 40 --set tokens=30 --set offload=inline --json"
    done = run(*command.split(), cwd=tmp_path)
    (made,) = records(done)
    assert done.returncode == 0, done.stderr
    assert made["cell"]["axes"]["kernel"] == made["interpreter"]["kernel"] == "own_kernels:good"
    assert made["counts"]["ok"] == 40


def test_more_workers_than_a_limit_allows_are_told_beforehand(tmp_path: Path):
    command = "run --lane cpu -n 10 --set offload=processes --set workers=900 --json".split()
    done = run(*command, cwd=tmp_path, limits={resource.RLIMIT_NOFILE: (256, 256)})
    (made,) = records(done)
    assert done.returncode == 4
    assert made["status"]["name"] == "unsupported"
    assert made["status"]["reason"].startswith("nofile")
