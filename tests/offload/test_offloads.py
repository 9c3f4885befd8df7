"""Every offload: the same vectors, faults as words, and an end whatever documents do."""

import gc
import sys
import threading
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

import own_kernels
from streamlanes.cpu import open_kernel
from streamlanes.lanes.offloading import COLUMNS
from streamlanes.offload import OFFLOADS
from streamlanes.offload import processes as pool
from streamlanes.offload.base import Fault, Made, Offload, Staff, Task
from streamlanes.samples import Table, lane_columns

# A new worker is forked from a process with threads, as every pool does; 3.12 and later say so.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

HERE = [name for name, info in OFFLOADS.items() if info.since is None or sys.version_info >= info.since]
TEXTS = [f"document {index}" for index in range(40)]
BAD = [index for index, text in enumerate(TEXTS) if own_kernels.fails_at(text)]


@pytest.fixture
def samples() -> Iterator[Table]:
    made = Table.create("calls", lane_columns(COLUMNS, len(TEXTS)))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    """A thread of a pool that stays makes the interpreter wait at its end, for ever."""
    before = set(threading.enumerate())
    yield
    gc.collect()
    assert [each for each in set(threading.enumerate()) - before if "Executor" in type(each).__name__] == []


def opened(name: str, kernel: str, samples: Table, start_method: str | None = "fork") -> Offload:
    module, attribute = OFFLOADS[name].target.split(":")
    staff = Staff(2, start_method)
    made: Offload = getattr(import_module(module), attribute)(open_kernel(kernel), samples, staff)
    made.open()
    return made


def through(offload: Offload, size: int = 8) -> list[Made | Fault]:
    """All documents, in tasks of this size."""
    documents = list(enumerate(TEXTS))
    answers = [
        offload.submit(Task(tuple(documents[at : at + size]))) for at in range(0, len(documents), size)
    ]
    return [found for answer in answers for found in answer.result(timeout=60)]


@pytest.mark.parametrize("name", HERE)
def test_vectors_are_the_same_and_every_document_is_stamped(name: str, samples: Table):
    offload = opened(name, "hash-embed", samples)
    found = through(offload)
    kernel = open_kernel("hash-embed")
    assert [each.vector for each in found] == [kernel(text).tobytes() for text in TEXTS]
    begin, end, cpu = (np.array(samples[f"kernel_{what}"]) for what in ("begin", "end", "cpu"))
    assert (begin > 0).all()
    assert (end >= begin).all()
    assert (cpu > 0).all()
    (echo,) = offload.submit(Task(((0, TEXTS[0]),), echo_bytes=12)).result(timeout=60)
    assert echo == Made(bytes(12), (12,))
    offload.close()


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_every_start_method_gives_the_same_vectors(method: str, samples: Table):
    offload = opened("processes", "static-embed", samples, method)
    kernel = open_kernel("static-embed")
    assert [each.vector for each in through(offload)] == [kernel(text).tobytes() for text in TEXTS]
    assert offload.facts()["start_method"] == method
    offload.close()


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize(
    ("kernel", "errors"),
    [
        ("raises", {"ValueError: an odd document"}),
        ("cannot_come_back", {"Odd: bad at 3", "Unpicklable: worse", "Silent: (its message cannot be had)"}),
        ("exits", {"SystemExit: 3"}),
    ],
)
def test_a_document_whose_kernel_raises_fails_alone(name: str, kernel: str, errors: set[str], samples: Table):
    offload = opened(name, f"own_kernels:{kernel}", samples)
    found = through(offload)
    faults = [index for index, each in enumerate(found) if isinstance(each, Fault)]
    assert faults == BAD
    assert {each.error for each in found if isinstance(each, Fault)} <= errors
    offload.close()


def test_a_document_that_kills_its_worker_fails_alone(samples: Table):
    offload = opened("processes", "own_kernels:dies", samples)
    found = through(offload)
    faults = {index: each.error for index, each in enumerate(found) if isinstance(each, Fault)}
    assert list(faults) == BAD
    assert set(faults.values()) == {"WorkerDied: the worker process died at this document"}
    assert offload.facts()["worker_deaths"] == len(BAD)
    assert offload.facts()["offload_workers"] == 2, "each has another in its place"
    offload.close()


def test_workers_that_die_at_every_document_are_given_up(samples: Table):
    offload = opened("processes", "own_kernels:always_dies", samples)
    found = through(offload)
    assert all(isinstance(each, Fault) for each in found)
    assert pool.MOST_IN_A_ROW <= offload.facts()["worker_deaths"] <= pool.MOST_IN_A_ROW + 1, "the other one"
    said = {each.error for each in found if isinstance(each, Fault)}
    assert any(each.startswith("WorkerDied: given up after ") for each in said)
    offload.close()


def test_deaths_are_bounded_in_all(samples: Table, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "MOST_DEATHS", 2)
    offload = opened("processes", "own_kernels:dies", samples)
    found = through(offload, size=1)
    assert 2 <= offload.facts()["worker_deaths"] <= 3, "the other one may have died meanwhile"
    assert all(isinstance(found[index], Fault) for index in BAD)
    offload.close()


def test_workers_that_cannot_come_up_are_said_at_once(samples: Table, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("streamlanes.offload.work.enter", broken)
    with pytest.raises(RuntimeError, match="does not come up"):
        opened("processes", "own_kernels:good", samples)


@pytest.mark.skipif("interpreters" in HERE, reason="this Python has them")
def test_interpreters_say_which_python_has_them():
    assert OFFLOADS["interpreters"].since == (3, 14)
