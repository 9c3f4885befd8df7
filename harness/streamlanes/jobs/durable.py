"""The job of the durable lane: one execution, step after step, until its time or its steps are over."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from streamlanes.clients.base import Client, Setting, now_ns
from streamlanes.durable import costs
from streamlanes.durable.architecture import Grounds
from streamlanes.durable.architectures import open_architecture
from streamlanes.durable.writer import GROUP
from streamlanes.jobs.base import Job
from streamlanes.jobs.retrying import Retry
from streamlanes.jobs.steps import LaneSteps
from streamlanes.samples import Outcome, Table

if TYPE_CHECKING:
    from streamlanes.durable.vfs import Watch

NONE, SQLITE = "none", "sqlite"
WAITS = {
    "async": "streamlanes.durable.looping:Looping",
    "blocking": "streamlanes.durable.waits:Blocking",
}


@dataclass(frozen=True, kw_only=True)
class DurableSetting:
    """What the lane asks for.

    store, synchronous: where steps are kept, and when SQLite waits for the disk. grouped: whether commits are
    shared. sync_ms: added to each sync. architecture: by its name. steps: of an execution; run_s: after which
    executions end; one of both is set. state_bytes: of a step's state. waits: how jobs wait ("async",
    "blocking"). bare: steps do nothing; else each is a call of the client. folder, where, schema: the place
    that the parent has ready; own_disk: whether the folder is on the store's disk.
    """

    store: str
    synchronous: str
    grouped: bool
    sync_ms: float
    architecture: str
    steps: int | None
    run_s: float | None
    state_bytes: int
    retry: str
    waits: str
    bare: bool
    folder: str = ""
    where: str = ""
    schema: str = ""
    own_disk: bool = False


class DurableJob(Job):
    """Carries one execution to its end; called with its number."""

    def __init__(self, setting: Setting, samples: Table, client: Client, **asked: Any) -> None:
        self._asked = DurableSetting(**asked)
        self._samples = samples
        self._executions = setting.calls
        self._mishaps = setting.mishaps
        run_s = self._asked.run_s
        self._steps = LaneSteps(
            setting,
            samples,
            None if self._asked.bare else client,
            state_bytes=self._asked.state_bytes,
            limit=self._asked.steps,
            run_ns=None if run_s is None else int(run_s * 1e9),
            retry=Retry(self._asked.retry),
        )
        self._costs: costs.Costs | None = None
        self._before: costs.Cost | None = None
        self._facts: dict[str, object] = {}
        self._syncs_us: list[float] = []

    def prepare(self) -> None:
        """The store open, and a look at its disk."""
        self._look()
        self._architecture = open_architecture(self._asked.architecture, self._grounds())
        self._architecture.open()
        self._facts = {"durability": self._architecture.durability, "architecture": self._asked.architecture}
        if self._costs is not None:
            self._facts |= self._costs.facts()

    def _grounds(self) -> Grounds | None:
        """What the architecture is opened on; None where nothing is to be kept."""
        asked = self._asked
        if asked.store == NONE:
            return None
        watch = None
        if asked.store == SQLITE:
            watch = _watch(asked.sync_ms)
            self._costs = costs.FileCosts(Path(asked.where), watch)
        else:
            from streamlanes.durable.postgres_costs import ServerCosts

            self._costs = ServerCosts(asked.where, asked.schema)
        return Grounds(
            where=asked.where,
            executions=self._executions,
            schema=asked.schema,
            synchronous=asked.synchronous,
            group=GROUP if asked.grouped else 1,
            sync_ms=asked.sync_ms,
            vfs=watch.name if watch else None,
        )

    def _look(self) -> None:
        if self._asked.own_disk:
            self._syncs_us.append(median(costs.sync_us(Path(self._asked.folder))))

    async def open(self) -> None:
        """Whoever works beside the executions; from here on costs are counted."""
        module, attribute = WAITS[self._asked.waits].split(":")
        waits = getattr(import_module(module), attribute)()
        await self._steps.open(waits)
        await self._architecture.start(self._steps, waits)
        if self._costs is not None:
            self._before = self._costs.read()

    async def __call__(self, call: int) -> None:
        """Carry the execution to its end; whatever goes wrong becomes its outcome."""
        samples = self._samples
        samples["begin"][call] = now_ns()
        how = Outcome.JOB_ERROR
        try:
            await self._architecture.run(call)
            how = Outcome.OK
        except Exception as error:
            if self._mishaps is not None:
                self._mishaps.error(error)
        except BaseException:  # cancelled or torn down: the execution is accounted for all the same
            how = Outcome.CANCELLED
            raise
        finally:
            samples["end"][call] = now_ns()
            samples["outcome"][call] = how

    def facts(self) -> dict[str, object]:
        """What the store holds and what it cost. Read once all executions have ended, before anything is
        closed."""
        left = self._samples["left"]
        if self._costs is not None:
            time.sleep(self._costs.settle_s)
        for execution, count in self._architecture.left().items():
            left[execution] = count
        cost = self._cost()
        self._look()
        return {**self._facts, **self._steps.facts(), **self._architecture.facts(), **cost, **self._disk()}

    def _cost(self) -> Mapping[str, object]:
        """From the first execution on; of the room, all of it."""
        if self._costs is None or self._before is None:
            return {}
        before, after = self._before, self._costs.read()
        return {
            "syncs": _minus(after.syncs, before.syncs),
            "written_bytes": _minus(after.written_bytes, before.written_bytes),
            "stored_bytes": after.stored_bytes,
        }

    def _disk(self) -> Mapping[str, object]:
        return {"fsync_us": [round(each, 1) for each in self._syncs_us]} if self._syncs_us else {}

    async def close(self) -> None:
        """Whoever was started ends."""
        await self._architecture.stop()
        await self._steps.close()

    def release(self) -> None:
        """Close the store."""
        self._architecture.close()


def _watch(sync_ms: float) -> "Watch | None":
    """A VFS that counts syncs and delays them; None where SQLite cannot be reached and need not wait."""
    from streamlanes.durable import vfs

    try:
        return vfs.Watch(sync_ms / 1000)
    except vfs.Unavailable as why:
        if sync_ms:
            raise RuntimeError(f"syncs cannot be delayed here: {why}; leave sync_ms out") from None
        return None


def _minus(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before
