"""Post-processing as a job does it: stamps, faults, the batch it chose, the work it was asked for."""

import asyncio
import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from jobs_fakes import setting as opened_with
from jobs_fakes import small_schedule, tables
from streamlanes.backends.base import drive
from streamlanes.clients.base import Into
from streamlanes.cpu.base import KernelError
from streamlanes.jobs.cpu import CpuJob
from streamlanes.jobs.mixed import MixedJob
from streamlanes.jobs.post import Post, PostSetting
from streamlanes.lanes.offloading import COLUMNS
from streamlanes.mishaps import Mishaps
from streamlanes.offload.base import Fault, Made
from streamlanes.samples import Outcome, Table

CALLS = 24
SETTING = {"kernel": "hash-embed", "offload": "inline", "workers": 1, "waits": "async", "seed": 1}


@pytest.fixture
def both() -> Iterator[tuple[Table, Table]]:
    schedule, samples = tables(small_schedule(CALLS, tokens=30.0), COLUMNS)
    yield schedule, samples
    schedule.close()
    samples.close()


def done(both: tuple[Table, Table], **setting: object) -> CpuJob:
    """Every document processed by a job of this setting, which is closed again."""
    job = CpuJob(opened_with(both[0]), both[1], None, **{**SETTING, **setting})
    job.prepare()

    async def main() -> None:
        await asyncio.gather(*(job(call) for call in range(CALLS)))

    if setting.get("waits") == "blocking":
        for call in range(CALLS):
            drive(job(call))
    else:
        asyncio.run(main())
    job.release()
    return job


def column(both: tuple[Table, Table], name: str) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.array(both[1][name])


@pytest.mark.parametrize("waits", ["async", "blocking"])
@pytest.mark.parametrize("offload", ["inline", "threads"])
def test_every_document_is_stamped_in_order(both: tuple[Table, Table], waits: str, offload: str):
    done(both, waits=waits, offload=offload, batch=1)
    times = [column(both, name) for name in ("begin", "handed", "kernel_begin", "kernel_end", "back", "end")]
    for earlier, later in itertools.pairwise(times):
        assert (earlier > 0).all()
        assert (earlier <= later).all()
    assert (column(both, "outcome") == Outcome.OK).all()
    assert len(set(column(both, "digest"))) == CALLS, "every document is another one"


def test_the_offload_changes_no_vector(both: tuple[Table, Table]):
    done(both)
    inline = column(both, "digest")
    done(both, offload="threads", workers=2, batch=5)
    assert (column(both, "digest") == inline).all()


def test_a_batch_leaves_work_for_every_worker(both: tuple[Table, Table]):
    job = done(both, offload="threads", workers=2)
    assert job.facts()["batch"] == CALLS // 8
    assert job.facts()["offload_workers"] == 2


def test_a_document_that_fails_is_told_with_class_and_message(both: tuple[Table, Table]):
    job = done(both, kernel="own_kernels:raises")
    faults = job.facts()["faults"]
    assert set(faults.values()) == {"ValueError: an odd document"}
    failed = column(both, "outcome") == Outcome.JOB_ERROR
    assert 0 < failed.sum() < CALLS
    assert [str(call) for call in np.flatnonzero(failed)] == list(faults)
    assert (column(both, "fault") == failed).all()
    assert ((column(both, "digest") > 0) == ~failed).all()


def test_another_shape_is_a_fault(both: tuple[Table, Table]):
    job = done(both, kernel="own_kernels:another_shape")
    faults = job.facts()["faults"]
    assert faults
    assert all(each.startswith("WrongShape: ") for each in faults.values())
    assert len(faults) < CALLS


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("always_raises", "fails on every document: RuntimeError: never any good"),
        ("no_vector", "returned str, not a vector"),
        ("missing", "no function"),
    ],
)
def test_a_kernel_that_is_no_good_is_said_before_the_run(both: tuple[Table, Table], kernel: str, words: str):
    with pytest.raises(KernelError, match=words):
        done(both, kernel=f"own_kernels:{kernel}")


def test_a_sample_that_takes_too_long_is_said(both: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("streamlanes.jobs.post.SAMPLE_LIMIT_S", 0.01)
    with pytest.raises(KernelError, match="had not returned after"):
        done(both, kernel="own_kernels:slow", offload="threads")


@pytest.mark.parametrize(
    ("looks_us", "taken", "us"),
    [
        ([1850, 1900], 2, 1850),
        ([2964, 1860, 1850], 3, 1850),  # as seen: the first one had a neighbour
        ([1850, 2964, 1860], 3, 1850),
        ([4000, 3000, 2000, 1000, 1000], 4, 1000),
    ],
)
def test_looks_at_a_document_are_repeated_until_two_agree(
    both: tuple[Table, Table], looks_us: list[float], taken: int, us: float
):
    post = Post(both[0], both[1], PostSetting(**SETTING))
    post._documents = ["x" * 1000, "y" * 1000]
    left = list(looks_us)
    vector = Made(b"", (0,))
    post._look = lambda made: ([float(left.pop(0))], vector, Fault(""))
    assert post._sample() == (vector, us)
    assert len(looks_us) - len(left) == taken


def test_a_calls_work_is_the_kernel_as_often_as_it_takes(both: tuple[Table, Table]):
    facts = done(both, work_ms=5.0).facts()
    assert facts["documents_per_call"] == max(1, round(5000 / facts["document_us"]))
    assert done(both, work_ms=0.0).facts()["documents_per_call"] == 0


def test_no_work_is_stamped_all_the_same(both: tuple[Table, Table]):
    done(both, work_ms=0.0)
    assert (column(both, "back") >= column(both, "handed")).all()
    assert not column(both, "kernel_begin").any(), "what the sample stamped is taken back"


def test_an_error_beside_the_documents_is_noted_and_ends_the_call(both: tuple[Table, Table]):
    """Not a document's fault, which is a text: the offload itself raises."""
    mishaps = Mishaps.create()
    job = CpuJob(opened_with(both[0], mishaps=mishaps), both[1], None, **SETTING, batch=1)
    job.prepare()
    job._post._offload.submit = _no_more
    asyncio.run(job(0))
    job.release()
    assert column(both, "outcome")[0] == Outcome.JOB_ERROR
    noted = {kind: each.message for kind, each in mishaps.read().items()}
    assert noted == {"RuntimeError": "no more workers"}
    mishaps.close()


def _no_more(task: object) -> None:
    raise RuntimeError("no more workers")


def test_the_mixed_job_hands_on_what_its_streams_share(both: tuple[Table, Table]):
    shared = Sharing(["made"])
    job = MixedJob(opened_with(both[0]), both[1], shared, **SETTING, batch=1)
    job.prepare()

    async def main() -> None:
        await job.open()
        await job(3)
        await job.close()

    asyncio.run(main())
    job.release()
    assert shared.noted == ["made", "open", 3, "close"]
    assert column(both, "outcome")[3] == Outcome.OK
    assert column(both, "digest")[3] != 0


class Sharing:
    """A client that keeps something for all calls, and notes what is done with it."""

    def __init__(self, noted: list[object]) -> None:
        self.noted = noted

    async def open(self) -> None:
        self.noted.append("open")

    async def stream(self, into: Into) -> None:
        self.noted.append(into.call)
        into.finished()
        into.closed(1)

    async def close(self) -> None:
        self.noted.append("close")
