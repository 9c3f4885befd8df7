"""The timer wheel: each item once, at or after its due time, never a tick early."""

import asyncio
import time

import pytest
import uvloop

from streamlanes.provider.wheel import Wheel

TICK_NS = 1_000_000


def test_an_error_in_one_tick_does_not_stop_the_others():
    fired: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: fired.append(type(context["exception"]).__name__))
        over = loop.create_future()

        def fire(items: list[str], now: int) -> None:
            if items == ["bad"]:
                raise KeyError("bad")
            fired.extend(items)
            over.set_result(None)

        wheel = Wheel(loop, TICK_NS, fire)
        now = time.perf_counter_ns()
        wheel.at(now + TICK_NS, "bad")
        wheel.at(now + 10 * TICK_NS, "good")
        await asyncio.wait_for(over, 30)
        wheel.close()

    asyncio.run(main())
    assert fired == ["KeyError", "good"]


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_items_fire_once_in_the_order_of_their_ticks(loop_factory):
    fired: list[tuple[str, int]] = []

    async def main() -> dict[str, int]:
        loop = asyncio.get_running_loop()
        over = loop.create_future()

        def fire(items: list[str], now: int) -> None:
            for item in items:
                fired.append((item, time.perf_counter_ns()))
                if item == "chain" and sum(name == "chain" for name, _ in fired) < 3:
                    wheel.at(now + 3 * TICK_NS, "chain")
                if len(fired) == 6:
                    over.set_result(None)

        wheel = Wheel(loop, TICK_NS, fire)
        now = time.perf_counter_ns()
        due = {
            "late": now + 20 * TICK_NS,
            "soon": now + 8 * TICK_NS,
            "past": now - 50 * TICK_NS,
            "chain": now,
        }
        for item, at in due.items():
            wheel.at(at, item)
        await asyncio.wait_for(over, 30)
        wheel.close()
        return due

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        due = runner.run(main())
    names = [name for name, _ in fired]
    assert sorted(names) == ["chain", "chain", "chain", "late", "past", "soon"]
    assert names.index("past") < names.index("soon") < names.index("late")
    for name in ("late", "soon"):
        assert dict(fired)[name] >= due[name]
