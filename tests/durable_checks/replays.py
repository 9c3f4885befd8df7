"""What replay must do on a database: nothing that is logged runs again, and all else does."""

import asyncio
import random
from collections import Counter

import pytest

from durable_rows import LONG_S
from replay_world import AT_ONCE, Died, World, kinds, log
from streamlanes.durable.activities import activity, attempt_key, attempt_number, now, uuid
from streamlanes.durable.activities import random as drawn
from streamlanes.durable.database import Database
from streamlanes.durable.errors import ActivityFailed
from streamlanes.durable.events import Events, Kind
from streamlanes.durable.replay import EventLog, run_or_replay, run_or_replay_async
from streamlanes.durable.running import Worker


class ReplayChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

    def test_what_is_logged_does_not_run_again(self, database: Database):
        world = World()
        one, two = world.doing("one"), world.doing("two")

        def both(name: str) -> object:
            return [one(name), two([1, {"x": None}])]

        worker, at = log(database)
        expected = [{"done": "one", "value": "book"}, {"done": "two", "value": [1, {"x": None}]}]
        assert run_or_replay(both, at, "book") == expected
        assert kinds(database) == ["session", "scheduled", "completed", "scheduled", "completed", "ended"]
        for _ in range(2):
            assert run_or_replay(both, at, "book") == expected, "done is replayed"
        assert run_or_replay(both, at) == expected, "its input is in the log"
        assert world.ran == ["one", "two"]
        assert len(kinds(database)) == 6, "and nothing was written"
        worker.close()

    @pytest.mark.parametrize("dies_at", [1, 2, 3])
    def test_only_the_activity_that_was_cut_off_runs_again(self, database: Database, dies_at: int):
        world = World(dies_at)
        does = [world.doing(name) for name in ("one", "two", "three")]

        def all_of_them() -> list[object]:
            return [do(place) for place, do in enumerate(does)]

        worker, at = log(database)
        with pytest.raises(Died):
            run_or_replay(all_of_them, at)
        run_or_replay(all_of_them, at)
        again = Counter(world.ran)
        assert again.total() == 4
        assert again[("one", "two", "three")[dies_at - 1]] == 2
        events = Events(database).read("a")
        assert [event.number for event in events] == list(range(1, len(events) + 1))
        assert Counter(event.kind for event in events)[Kind.COMPLETED] == 3
        worker.close()

    def test_readings_are_the_same_in_replay(self, database: Database):
        world, seen = World(dies_at=1), []
        do = world.doing("do")

        def reads() -> list[object]:
            seen.append([now(), drawn(), uuid()])
            do(seen[-1])
            seen[-1].append(now())
            return seen[-1]

        ticks = iter([100.0, 200.0, 300.0])
        worker, at = log(database, clock=lambda: next(ticks), draw=random.Random(1))
        with pytest.raises(Died):
            run_or_replay(reads, at)
        ended = run_or_replay(reads, at)
        assert run_or_replay(reads, at) == ended
        assert seen[1][:3] == seen[0], "they were kept before the activity began"
        assert seen[1] == seen[2] == ended
        assert ended[0] < ended[3]
        worker.close()

    def test_readings_that_nothing_followed_are_made_anew(self, database: Database):
        seen: list[str] = []

        def reads() -> str:
            seen.append(uuid())
            if len(seen) == 1:
                raise Died
            return seen[-1]

        worker, at = log(database)
        with pytest.raises(Died):
            run_or_replay(reads, at)
        assert kinds(database) == []
        assert run_or_replay(reads, at) == seen[1] != seen[0]
        worker.close()

    def test_attempts_that_fail_are_made_again_and_then_given_up(self, database: Database):
        tried: list[tuple[str, int]] = []

        @activity(backoff=AT_ONCE)
        def flaky(until: int) -> str:
            tried.append((attempt_key(), attempt_number()))
            if len(tried) < until:
                raise ValueError("not  yet\nthere")
            return "there"

        def mended() -> object:
            return flaky(3)

        worker, at = log(database)
        assert run_or_replay(mended, at) == "there"
        assert tried == [("a/0/1", 1), ("a/0/1", 2), ("a/0/1", 3)]
        assert kinds(database)[1:-1] == ["scheduled", "failed", "again", "failed", "again", "completed"]

        def caught() -> str:
            try:
                return str(flaky(99))
            except ActivityFailed as error:
                return str(error)

        tried.clear()
        other = EventLog(worker, "b")
        says = "activity flaky failed 3 times, at last with ValueError: not yet there"
        assert run_or_replay(caught, other) == says
        assert run_or_replay(caught, other) == says, "in replay too"
        assert len(tried) == 3
        worker.close()

    def test_failures_of_earlier_workers_count_and_deaths_do_not(self, database: Database):
        tried: list[int] = []

        @activity(backoff=AT_ONCE)
        def flaky() -> None:
            tried.append(attempt_number())
            if len(tried) == 2:
                raise Died
            raise ValueError

        worker, at = log(database)
        with pytest.raises(Died):
            run_or_replay(flaky, at)
        with pytest.raises(ActivityFailed, match="failed 3 times"):
            run_or_replay(flaky, at)
        assert tried == [1, 2, 3, 4]
        assert kinds(database)[-1] == "broken"
        with pytest.raises(ActivityFailed, match="failed 3 times"):
            run_or_replay(flaky, at)
        assert len(tried) == 4
        worker.close()

    def test_activities_at_once_are_found_again_in_any_order(self, database: Database):
        ran: list[str] = []

        @activity
        async def slow(name: str, turns: int) -> str:
            ran.append(name)
            for _ in range(turns):
                await asyncio.sleep(0)
            if ran.count("last") == 1 and name == "last":
                raise Died
            return name

        @activity
        def plain(name: str) -> str:
            ran.append(name)
            return name

        async def line(name: str, turns: int) -> list[str]:
            return [await slow(f"{name}-first", turns), await plain(f"{name}-second")]

        async def many() -> object:
            flat = await asyncio.gather(slow("x", 9), slow("y", 0))
            nested = await asyncio.gather(line("p", 7), line("q", 0))
            return [flat, nested, await slow("last", 0)]

        worker, at = log(database)
        with pytest.raises(Died):
            run_or_replay(many, at)
        expected = [["x", "y"], [["p-first", "p-second"], ["q-first", "q-second"]], "last"]
        assert run_or_replay(many, at) == expected
        assert asyncio.run(run_or_replay_async(many, at)) == expected
        assert Counter(ran) == {**dict.fromkeys(("x", "y", "p-first", "p-second", "q-first", "q-second"), 1),
                                "last": 2}  # fmt: skip
        worker.close()

    def test_many_workflows_in_one_loop(self, database: Database):
        worker = Worker(database, "w", LONG_S)

        @activity
        async def double(n: int) -> int:
            return 2 * n

        async def four_times(n: int) -> int:
            return await double(await double(n))

        async def all_of_them() -> list[object]:
            runs = [run_or_replay_async(four_times, EventLog(worker, f"e{n}"), n) for n in range(50)]
            return await asyncio.gather(*runs)

        assert asyncio.run(all_of_them()) == [4 * n for n in range(50)]
        assert database.counts.largest > 1, "they shared commits"
        worker.close()
