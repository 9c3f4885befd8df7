"""The timer wheel: each item once, at or after its due time, never a tick early."""

import asyncio
import time

import pytest
import uvloop

from streamlanes.provider.wheel import Timer, Wheel

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


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_each_of_two_times_calls_back_once(loop_factory):
    """A timer that has fired and is not set anew has to be read, or the loop would turn for ever."""
    called: list[int] = []

    async def main() -> tuple[int, int]:
        loop = asyncio.get_running_loop()
        both = loop.create_future()

        def callback() -> None:
            called.append(time.perf_counter_ns())
            if len(called) == 2:
                both.set_result(None)

        timer = Timer(loop, callback)
        first = time.perf_counter_ns() + 5 * TICK_NS
        timer.at(first, first + 5 * TICK_NS)
        await asyncio.wait_for(both, 30)
        for _ in range(20):
            await asyncio.sleep(0)
        timer.close()
        return first, first + 5 * TICK_NS

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        first, second = runner.run(main())
    assert len(called) == 2
    assert called[0] >= first
    assert called[1] >= second


def test_a_callback_sets_the_time_after_the_next():
    """As the wheel does: one time is always set behind the one that comes next."""
    called: list[int] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        began = time.perf_counter_ns()

        def callback() -> None:
            called.append(time.perf_counter_ns())
            if len(called) == 10:
                over.set_result(None)
            else:
                timer.at(began + (len(called) + 1) * TICK_NS, began + (len(called) + 2) * TICK_NS)

        timer = Timer(loop, callback)
        timer.at(began + TICK_NS, began + 2 * TICK_NS)
        await asyncio.wait_for(over, 30)
        timer.close()
        assert all(at >= began + (number + 1) * TICK_NS for number, at in enumerate(called))

    asyncio.run(main())
    assert len(called) == 10


def test_an_earlier_time_goes_before_those_that_are_set():
    async def main() -> None:
        loop = asyncio.get_running_loop()
        called = loop.create_future()
        timer = Timer(loop, lambda: called.done() or called.set_result(None))
        far = time.perf_counter_ns() + 3600 * 1_000_000_000
        timer.at(far, far + TICK_NS)
        timer.at(time.perf_counter_ns() + TICK_NS)
        await asyncio.wait_for(called, 30)
        timer.close()

    asyncio.run(main())
