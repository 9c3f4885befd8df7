"""Every architecture on SQLite: every step kept once, in order, whoever carries it on."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from streamlanes.durable.architecture import Architecture, Grounds, Made, StepFailed
from streamlanes.durable.architectures import ARCHITECTURES, open_architecture
from streamlanes.durable.looping import Looping
from streamlanes.durable.vfs import Unavailable, Watch
from streamlanes.durable.waits import Blocking, drive

EXECUTIONS, STEPS = 3, 4


class Counted:
    """Steps that note what was done and what was kept."""

    def __init__(self, fails_at: tuple[int, int] | None = None) -> None:
        self.worked: Counter[tuple[int, int]] = Counter()
        self.kept_: list[tuple[int, int]] = []
        self._fails_at = fails_at
        self._lock = threading.Lock()

    async def work(self, execution: int, step: int) -> Made:
        with self._lock:
            self.worked[execution, step] += 1
        if (execution, step) == self._fails_at:
            raise StepFailed("told to")
        return Made({"of": execution, "step": step}, last=step == STEPS - 1)

    def kept(self, execution: int, step: int) -> None:
        with self._lock:
            self.kept_.append((execution, step))


def blocking(of: Architecture, steps: Counted) -> list[BaseException]:
    """A thread an execution; what they raised."""
    raised: list[BaseException] = []

    def run(execution: int) -> None:
        try:
            drive(of.run(execution))
        except Exception as error:
            raised.append(error)

    drive(of.start(steps, Blocking()))
    threads = [threading.Thread(target=run, args=(number,)) for number in range(EXECUTIONS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return raised


def in_a_loop(of: Architecture, steps: Counted) -> list[BaseException]:
    """A task an execution, in one loop; what they raised. It is stopped there too."""

    async def all_of_them() -> list[BaseException]:
        await of.start(steps, Looping())
        found = await asyncio.gather(*map(of.run, range(EXECUTIONS)), return_exceptions=True)
        await of.stop()
        return [each for each in found if each is not None]

    return asyncio.run(all_of_them())


WAYS = {"blocking": blocking, "async": in_a_loop}
CASES = [
    pytest.param(name, WAYS[waits], store, id=f"{name}-{store}-{waits}")
    for name, info in ARCHITECTURES.items()
    for store in ("none", "sqlite")
    for waits in info.waits
    if store in info.stores
]


def opened(name: str, store: str, folder: Path, **more: object) -> Architecture:
    grounds = Grounds(where=str(folder / "s.db"), executions=EXECUTIONS, synchronous="normal", **more)
    made = open_architecture(name, None if store == "none" else grounds)
    made.open()
    return made


@pytest.mark.parametrize(("name", "carry", "store"), CASES)
def test_every_step_is_kept_once_and_in_order(
    tmp_path: Path, name: str, carry: Callable[[Architecture, Counted], list[BaseException]], store: str
):
    of, steps = opened(name, store, tmp_path), Counted()
    assert carry(of, steps) == []
    every = [(execution, step) for execution in range(EXECUTIONS) for step in range(STEPS)]
    assert sorted(steps.kept_) == every
    assert set(steps.worked.values()) == {1}
    for execution in range(EXECUTIONS):
        assert [step for one, step in steps.kept_ if one == execution] == list(range(STEPS))
    if store != "none":
        assert dict(of.left()) == dict.fromkeys(range(EXECUTIONS), STEPS)
        assert of.durability == "sqlite-normal"
        assert of.facts()["commits"] > 0
    if carry is blocking:
        drive(of.stop())
    of.close()


def test_a_step_that_fails_ends_its_execution_and_no_other(tmp_path: Path):
    of, steps = opened("checkpoints", "sqlite", tmp_path), Counted(fails_at=(1, 2))
    (raised,) = in_a_loop(of, steps)
    assert isinstance(raised, StepFailed)
    assert dict(of.left()) == {0: STEPS, 1: 2, 2: STEPS}
    assert [step for execution, step in steps.kept_ if execution == 1] == [0, 1]
    of.close()


def test_grounds_are_applied(tmp_path: Path):
    try:
        watch = Watch()
    except Unavailable as why:
        pytest.skip(f"not tested: {why}")
    grounds = Grounds(
        where=str(tmp_path / "s.db"), executions=EXECUTIONS, synchronous="full", group=1, vfs=watch.name
    )
    of = open_architecture("checkpoints", grounds)
    of.open()
    assert in_a_loop(of, Counted()) == []
    assert of.durability == "sqlite-full"
    assert of.facts()["largest"] == 1
    assert watch.syncs >= of.facts()["commits"] >= EXECUTIONS * STEPS
    of.close()
