"""Post-processing of a call's text: a kernel, and the offload it runs in."""

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from streamlanes.cpu import blas, open_kernel
from streamlanes.cpu.base import KernelError, Shape, digest
from streamlanes.cpu.texts import Texts
from streamlanes.jobs.base import Job
from streamlanes.jobs.batches import Batches
from streamlanes.offload import OFFLOADS
from streamlanes.offload.base import Fault, Made, Offload, Staff, Task
from streamlanes.samples import Table

now_ns = time.perf_counter_ns

TASK_MS = 20.0
"""How long a chosen batch works: long beside a way to another process and back (a fraction of a
millisecond), short beside a cell."""
TASKS_A_WORKER = 4
"""A batch is no larger than leaves every worker so many, or the last one would be waited for."""
SAMPLE_S = 0.25
SAMPLE_DOCUMENTS = 64
SAMPLE_LIMIT_S = 20.0
"""Of one document, the first ones of which load people's models. Inline there is nobody to look at a
clock: the parent's own limit (process.START_S) ends such a cell."""
LOOKS = 4
"""Most looks at what a document takes."""
AGREEING = 0.1
"""By what share two looks may differ and agree."""
LONG_LOOK_S = 1.0
TRIES = 20
PINGS = 20
FAULTS_SAID = 20


@dataclass(frozen=True, kw_only=True)
class PostSetting:
    """What the lane asks for.

    seed: of the documents. waits: how jobs wait ("async", "blocking"). batch: documents handed over
    together; None for as many as work TASK_MS. work_ms: how long one call's post-processing works, the
    kernel repeated as often as that takes; None for once.
    """

    kernel: str
    offload: str
    workers: int
    start_method: str | None = None
    waits: str
    seed: int
    batch: int | None = None
    work_ms: float | None = None


class Post:
    """Hands call i's document over and stamps what becomes of it.

    Columns of a call: handed and back (CLOCK_MONOTONIC ns), digest of its vector, fault (1 for one
    that failed), and the worker's own (offload.work.Worker).
    """

    def __init__(self, schedule: Table, samples: Table, setting: PostSetting) -> None:
        self._schedule = schedule
        self._samples = samples
        self._setting = setting
        self._columns = {name: samples[name] for name in ("handed", "back", "digest", "fault")}
        self._documents: list[str] = []
        self._shape: Shape | None = None  # None: not known, or the text decides it
        self._faults: dict[int, str] = {}
        self._facts: dict[str, Any] = {}
        self._offload: Offload
        self._batches: Batches
        self._idle = False  # no work was asked for

    def open(self) -> None:
        """Kernel, documents and workers; then what one document takes and what the way costs."""
        setting = self._setting
        blas.one_thread()
        kernel = open_kernel(setting.kernel)
        first, texts = self._schedule["first"], Texts(setting.seed)
        calls = len(first) - 1
        self._documents = [texts.document(call, first[call + 1] - first[call]) for call in range(calls)]
        began = now_ns()
        module, attribute = OFFLOADS[setting.offload].target.split(":")
        staff = Staff(setting.workers, setting.start_method)
        self._offload = getattr(import_module(module), attribute)(kernel, self._samples, staff)
        self._offload.open()
        workers_ms = (now_ns() - began) / 1e6
        made, us_per_document = self._sample()
        self._shape = None if kernel.varies else made.shape
        times = self._times(us_per_document)
        batch = setting.batch or self._batch(us_per_document, calls)
        self._facts = {
            "kernel": setting.kernel,
            "offload": setting.offload,
            "offload_start_ms": workers_ms,
            "document_us": us_per_document,
            "transfer_us": self._ping(made, batch),
            "documents_per_call": times,
            "batch": batch,
            "blas_threads": blas.told(),
        }
        self._idle = times == 0
        waits = import_module(f"streamlanes.jobs.waits_{setting.waits}")
        self._batches = Batches(self._offload, waits.result, size=batch, expected=calls, times=times)

    async def __call__(self, call: int) -> bool:
        """Process the call's document; whether it went well."""
        at = self._columns
        at["handed"][call] = now_ns()
        found: Made | Fault | None = None
        if not self._idle:
            found = await self._batches((call, self._documents[call]))
        at["back"][call] = now_ns()
        if isinstance(found, Made) and self._shape not in (None, found.shape):
            found = Fault(f"WrongShape: the kernel returned {found.shape}, before that {self._shape}")
        if isinstance(found, Fault):
            at["fault"][call] = 1
            self._faults[call] = found.error
            return False
        if found is not None:
            at["digest"][call] = digest(found.vector)
        return True

    def _sample(self) -> tuple[Made, float]:
        """A vector, and microseconds of one document of mean size: one after the other, by a worker, on
        otherwise idle CPUs. A document that fails is left to the run.

        Looks are repeated until two agree, and the fastest counts: what disturbs one only makes it slower,
        and every speed-up of the cell would be too large by as much.
        """
        made: Made | None = None
        looks_us: list[float] = []
        while len(looks_us) < LOOKS and not _agree(looks_us):
            began = now_ns()
            ns_per_character, made, fault = self._look(made)
            if made is None:
                raise KernelError(f"kernel {self._setting.kernel} fails on every document: {fault.error}")
            mean_characters = statistics.fmean(map(len, self._documents))
            looks_us.append(statistics.median(ns_per_character) * mean_characters / 1000)
            if now_ns() - began > LONG_LOOK_S * 1e9:
                break  # long beside what disturbs it
        assert made is not None, "there was a look"
        return made, min(looks_us)

    def _look(self, made: Made | None) -> tuple[list[float], Made | None, Fault]:
        """What each document of a sample took, in ns a character; the last vector; the last fault. made: a
        vector of an earlier look, None in the first one, whose first document warms up."""
        setting = self._setting
        begin, end = self._samples["kernel_begin"], self._samples["kernel_end"]
        ns_per_character: list[float] = []
        warming: list[float] = []
        spent_ns, fault = 0, Fault("")
        for call, text in enumerate(self._documents[:SAMPLE_DOCUMENTS]):
            if spent_ns > SAMPLE_S * 1e9 or (made is None and call == TRIES):
                break
            try:
                (found,) = self._offload.submit(Task(((call, text),))).result(SAMPLE_LIMIT_S)
            except TimeoutError:
                raise KernelError(
                    f"kernel {setting.kernel} had not returned after {SAMPLE_LIMIT_S:g} s of one document"
                ) from None
            if isinstance(found, Fault):
                fault = found
                continue
            took_ns = end[call] - begin[call]
            spent_ns += took_ns
            (warming if made is None else ns_per_character).append(took_ns / len(text))
            made = found
        for column in ("kernel_begin", "kernel_end", "kernel_cpu"):
            for call in range(min(SAMPLE_DOCUMENTS, len(self._documents))):
                self._samples[column][call] = 0
        return ns_per_character or warming, made, fault

    def _times(self, us_per_document: float) -> int:
        """How often each document goes through the kernel, so that a call's work takes what was asked."""
        if self._setting.work_ms is None:
            return 1
        return max(1, round(self._setting.work_ms * 1000 / us_per_document)) if self._setting.work_ms else 0

    def _batch(self, us_per_document: float, calls: int) -> int:
        most = calls // (self._setting.workers * TASKS_A_WORKER)
        return max(1, min(most, round(TASK_MS * 1000 / us_per_document)))

    def _ping(self, made: Made, batch: int) -> float:
        """Microseconds a document of the way there and back without any work: text out, vector in."""
        calls = len(self._documents)
        documents = tuple((call % calls, self._documents[call % calls]) for call in range(batch))
        task = Task(documents, echo_bytes=len(made.vector))
        took_ns = []
        for _ in range(PINGS):
            began = now_ns()
            self._offload.submit(task).result()
            took_ns.append(now_ns() - began)
        return statistics.median(took_ns) / 1000 / batch

    def facts(self) -> dict[str, object]:
        """What ran and what it took; of faults the first ones by call, in their own words."""
        said = {str(call): self._faults[call] for call in sorted(self._faults)[:FAULTS_SAID]}
        return {**self._facts, **self._offload.facts(), "faults": said}

    def close(self) -> None:
        """Let the workers go."""
        self._offload.close()


def _agree(looks_us: Sequence[float]) -> bool:
    """Whether the two fastest looks say the same."""
    fastest = sorted(looks_us)[:2]
    return len(fastest) == 2 and fastest[1] <= fastest[0] * (1 + AGREEING)


class PostJob(Job):
    """A job that hands texts over: prepared, reported and released with its post-processing."""

    def __init__(self, schedule: Table, samples: Table, setting: Mapping[str, Any]) -> None:
        self._post = Post(schedule, samples, PostSetting(**setting))

    def prepare(self) -> None:
        """Workers up, one document measured."""
        self._post.open()

    def facts(self) -> dict[str, object]:
        """See Post.facts."""
        return self._post.facts()

    def release(self) -> None:
        """Let the workers go."""
        self._post.close()
