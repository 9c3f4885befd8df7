"""What every architecture must do, whatever it is made of."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from streamlanes.durable.architecture import Architecture, Grounds, Made, StepFailed
from streamlanes.durable.looping import Looping


@dataclass
class Steps:
    """Steps that take a few turns of the loop. lengths: steps of each execution; those in `broken` fail."""

    lengths: Sequence[int]
    broken: frozenset[tuple[int, int]] = frozenset()
    begun: Counter[tuple[int, int]] = field(default_factory=Counter)
    kept_steps: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    async def work(self, execution: int, step: int) -> Made:
        self.begun[execution, step] += 1
        for _ in range((execution + step) % 3):
            await asyncio.sleep(0)
        if (execution, step) in self.broken:
            raise StepFailed(f"step {step} of {execution}")
        return Made({"execution": execution, "step": step}, step == self.lengths[execution] - 1)

    def kept(self, execution: int, step: int) -> None:
        self.kept_steps[execution].append(step)


@dataclass(frozen=True)
class Carried:
    """What an architecture made of them. errors: what came out of `run`, None where it ended well."""

    errors: list[BaseException | None]
    left: Mapping[int, int]
    facts: Mapping[str, int | float]


def carried(architecture: Architecture, steps: Steps) -> Carried:
    """All executions at once, from `open` to `close`."""

    async def run() -> Carried:
        await architecture.start(steps, Looping())
        runs = [architecture.run(number) for number in range(len(steps.lengths))]
        errors = await asyncio.wait_for(asyncio.gather(*runs, return_exceptions=True), 60)
        found = Carried(errors, dict(architecture.left()), dict(architecture.facts()))
        await architecture.stop()
        return found

    architecture.open()
    try:
        return asyncio.run(run())
    finally:
        architecture.close()


class ArchitectureChecks:
    """Tests of one architecture: a subclass gives the fixture `make`."""

    def test_every_step_is_kept_once_and_in_order(self, make: Callable[[int], Architecture]):
        steps = Steps([4, 1, 3, 7, 2, 5])
        found = carried(make(6), steps)
        assert found.errors == [None] * 6
        assert steps.kept_steps == {number: list(range(n)) for number, n in enumerate(steps.lengths)}
        assert dict(found.left) == dict(enumerate(steps.lengths))
        assert set(steps.begun.values()) == {1}, "nothing is done twice where nobody dies"
        assert found.facts["requests"] >= sum(steps.lengths)
        assert 0 < found.facts["commits"] <= found.facts["requests"]

    def test_a_step_that_fails_ends_its_execution_and_no_other(self, make: Callable[[int], Architecture]):
        steps = Steps([4, 4, 4], frozenset({(1, 2)}))
        found = carried(make(3), steps)
        assert [type(error) for error in found.errors] == [type(None), StepFailed, type(None)]
        assert steps.kept_steps == {0: [0, 1, 2, 3], 1: [0, 1], 2: [0, 1, 2, 3]}
        assert dict(found.left) == {0: 4, 1: 2, 2: 4}


def grounds(where: str, executions: int, schema: str = "streamlanes") -> Grounds:
    return Grounds(where=where, executions=executions, schema=schema, synchronous="normal")
