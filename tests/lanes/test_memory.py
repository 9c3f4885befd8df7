"""Figures of the memory pass that need care."""

import pytest

from facts_made import facts, memory
from streamlanes.facts import Missing
from streamlanes.lanes.memory import METRICS
from streamlanes.metrics import Calls
from streamlanes.probe.stacks import StackReading


def figure(path: str, **fields: object) -> object:
    view = Calls(facts(memory=memory(**fields)))
    return next(metric for metric in METRICS if metric.path == path).of(view)


@pytest.mark.parametrize("path", ["memory.thread_stack_reserved_bytes", "memory.thread_stack_resident_bytes"])
def test_a_part_of_the_stacks_does_not_pass_for_all(path: str):
    some = StackReading(threads=5, placed=4, reserved_bytes=400, resident_bytes=40)
    assert figure(path, stacks=some) == Missing("only 4 of 5 thread stacks were found")
    none = StackReading(threads=5, placed=0, reserved_bytes=None, resident_bytes=None, reason="not allowed")
    assert figure(path, stacks=none) == Missing("not allowed")


def test_kernel_memory_is_missing_when_one_part_is():
    from facts_made import host

    assert isinstance(figure("memory.kernel_per_call_bytes", host_plateau=host(slab_bytes=5)), Missing)
