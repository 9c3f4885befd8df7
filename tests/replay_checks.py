"""What replay must do, whichever database the log stands on."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from durable_checks import LONG_S, lapse
from streamlanes.durable.activities import (
    Activity,
    activity,
    attempt_key,
    attempt_number,
    now,
    uuid,
    workflow,
)
from streamlanes.durable.activities import random as drawn
from streamlanes.durable.backoff import Backoff
from streamlanes.durable.database import Database, Work
from streamlanes.durable.errors import (
    ActivityFailed,
    Diverged,
    DurableError,
    LeaseHeld,
    LeaseLost,
    LogCut,
    Misplaced,
    NewerVersion,
    StateError,
    WorkflowChanged,
)
from streamlanes.durable.events import Events, Kind
from streamlanes.durable.logfile import export_lines, import_lines
from streamlanes.durable.replay import EventLog, run_or_replay, run_or_replay_async
from streamlanes.durable.running import Worker

AT_ONCE = Backoff(attempts=3, first_s=0.0, most_s=0.0)


class Died(BaseException):
    """A worker's death, in the place where it would be."""


@dataclass
class World:
    """What activities do to the world: they count, and die or fail where they are told to.

    dies_at: execution, from 1 and over all activities, in which the worker dies.
    """

    dies_at: int = 0
    ran: list[str] = field(default_factory=list)

    def doing(self, name: str, backoff: Backoff = AT_ONCE) -> Activity:
        @activity(name=name, backoff=backoff)
        def do(value: object = None) -> object:
            self.ran.append(name)
            if len(self.ran) == self.dies_at:
                raise Died
            return {"done": name, "value": value}

        return do


def log(database: Database, thread_id: str = "a", **more: object) -> tuple[Worker, EventLog]:
    worker = Worker(database, "w", LONG_S)
    return worker, EventLog(worker, thread_id, **more)


def kinds(database: Database, thread_id: str = "a") -> list[str]:
    return [event.kind.value for event in Events(database).read(thread_id)]


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

    @pytest.mark.parametrize(
        ("second", "says"),
        [
            ("other", r"at call 0/1 the log has activity one with .*\[1\].*, the code asks for activity two"),
            ("input", r'has activity one with {"args":\[1\].*, the code asks for .* {"args":\[2\]'),
            ("reading", r"at call 0/1 the log has activity one .*, the code asks for now\(\)"),
            ("less", r"at call 0/1 the log has activity one with .*, the code asks for nothing: it ended"),
        ],
    )
    def test_code_that_asks_for_something_else_is_named_with_both_sides(
        self, database: Database, second: str, says: str
    ):
        world = World(dies_at=2)
        one, two = world.doing("one"), world.doing("two")
        life: list[Callable[[], object]] = [lambda: one(1)]

        def changing() -> object:
            life[-1]()
            two()
            return None

        def ending() -> object:
            return None

        worker, at = log(database)
        with pytest.raises(Died):
            run_or_replay(workflow(name="changing")(changing), at)
        before = Events(database).read("a")
        other: dict[str, Callable[[], object]] = {
            "other": lambda: two(1),
            "input": lambda: one(2),
            "reading": now,
            "less": lambda: None,
        }
        life.append(other[second])
        code = ending if second == "less" else changing
        with pytest.raises(Diverged, match=f"execution a: .*{says}"):
            run_or_replay(workflow(name="changing")(code), at)
        assert Events(database).read("a") == before, "nothing is lost by it"
        life.append(life[0])
        run_or_replay(workflow(name="changing")(changing), at)
        worker.close()

    def test_a_log_that_ended_holds_more_and_less_than_other_code(self, database: Database):
        world = World()
        do = world.doing("do")
        worker, at = log(database)
        run_or_replay(workflow(name="w")(lambda: do(1)), at)
        with pytest.raises(Diverged, match=r"at call 0/2 the log has its end, the code asks for activity do"):
            run_or_replay(workflow(name="w")(lambda: [do(1), do(2)]), at)
        with pytest.raises(Diverged, match=r"the log has the result .* the code asks for the result"):
            run_or_replay(workflow(name="w")(lambda: do(1) and 7), at)
        worker.close()

    def test_code_that_swallows_a_divergence_is_stopped_all_the_same(self, database: Database):
        world = World(dies_at=2)
        do = world.doing("do")
        value = [1]

        def swallows() -> object:
            with contextlib.suppress(DurableError):
                do(value[0])
            return do("last")

        worker, at = log(database)
        with pytest.raises(Died):
            run_or_replay(swallows, at)
        value[0] = 2
        with pytest.raises(Diverged):
            run_or_replay(swallows, at)
        assert world.ran == ["do", "do"]
        worker.close()

    def test_another_workflow_version_or_input_is_refused_before_anything_is_written(
        self, database: Database
    ):
        world = World(dies_at=1)
        do = world.doing("do")
        worker, at = log(database)
        with pytest.raises(Died):
            run_or_replay(workflow(version=1, name="pay")(do), at, 100)
        before = Events(database).read("a")
        for changed, args, says in (
            (workflow(version=2, name="pay"), (100,), "begun by pay version 1, this is pay version 2"),
            (workflow(version=1, name="ship"), (100,), "begun by pay version 1, this is ship version 1"),
            (
                workflow(version=1, name="pay"),
                (7,),
                r'with the input {"args":\[100\].* this is .*\[7\]',
            ),
        ):
            with pytest.raises(WorkflowChanged, match=f"execution a: .*{says}"):
                run_or_replay(changed(do), at, *args)
        assert Events(database).read("a") == before
        assert run_or_replay(workflow(version=1, name="pay")(do), at)
        worker.close()

    def test_one_session_at_a_time(self, database: Database):
        worker, at = log(database)
        seen: list[str] = []

        @activity
        def look() -> str:
            try:
                run_or_replay(looks, at)
            except LeaseHeld as error:
                seen.append(str(error))
            return "looked"

        def looks() -> object:
            return look()

        assert run_or_replay(looks, at) == "looked"
        assert len(seen) == 1
        assert "execution a: another worker has it; wait for it" in seen[0]
        worker.close()

    def test_a_session_that_lost_its_lease_writes_nothing(self, database: Database):
        worker, at = log(database)
        ran: list[int] = []

        @activity
        def slow() -> int:
            ran.append(len(ran))
            if len(ran) == 1:
                lapse(database, "a")
                assert run_or_replay(takes_over, at) == 1, "another session, meanwhile"
            return ran[-1]

        def takes_over() -> object:
            return slow()

        with pytest.raises(LeaseLost, match="execution a"):
            run_or_replay(takes_over, at)
        events = Events(database).read("a")
        assert [(event.kind.value, event.epoch) for event in events] == [
            ("session", 1), ("scheduled", 1), ("session", 2), ("again", 2), ("completed", 2), ("ended", 2)
        ]  # fmt: skip
        assert run_or_replay(takes_over, at) == 1
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

    def test_what_cannot_be_kept_is_named(self, database: Database):
        worker, at = log(database)

        @activity
        def gives(value: object) -> object:
            return (1, 2) if value == "tuple" else value

        with pytest.raises(StateError, match=r"execution a: the input of gives\.args\[0\] is of type set"):
            run_or_replay(lambda: gives({1}), at)
        with pytest.raises(StateError, match="execution b: the output of gives is of type tuple"):
            run_or_replay(lambda: gives("tuple"), EventLog(worker, "b"))
        with pytest.raises(StateError, match="execution c: the result is of type object"):
            run_or_replay(object, EventLog(worker, "c"))
        assert Events(database).read("c") == []
        worker.close()

    def test_the_error_of_a_workflow_is_logged_and_it_can_be_taken_up(self, database: Database):
        world, fail = World(), [True]
        do = world.doing("do")

        def breaks() -> object:
            do()
            if fail:
                raise RuntimeError("a fault\nof the code")
            return "mended"

        worker, at = log(database)
        with pytest.raises(RuntimeError, match="a fault"):
            run_or_replay(breaks, at)
        assert kinds(database)[-1] == "broken"
        assert '"says":"a fault of the code"' in Events(database).read("a")[-1].data.replace(": ", ":")
        fail.clear()
        assert run_or_replay(breaks, at) == "mended"
        assert world.ran == ["do"]
        worker.close()

    def test_damage_is_named_and_nothing_is_written(self, database: Database):
        world = World(dies_at=3)
        do = world.doing("do")

        def three() -> object:
            return [do(1), do(2), do(3)]

        worker, at = log(database)
        with pytest.raises(Died):
            run_or_replay(three, at)

        def change(statement: str) -> None:
            database.submit(Work(None, lambda tx: tx.run(statement, {}))).result()

        count = len(kinds(database))
        for statement, says in (
            ("UPDATE events SET kind = 'unheard' WHERE number = 4", "event 4 .* unknown kind 'unheard'"),
            ("UPDATE events SET kind = 'completed', call = '9' WHERE number = 4", "event 4 .* to no call"),
            ("UPDATE events SET data = '{{' WHERE number = 1", "event 1 of its log cannot be read"),
            ("UPDATE events SET data = '{{}}' WHERE number = 1", "event 1 of its log says too little"),
            ("UPDATE events SET kind = 'recorded' WHERE number = 1", "does not say which workflow"),
            ("DELETE FROM events WHERE number = 3", "event 3 of its log is missing; restore"),
        ):
            change(statement)
            with pytest.raises(DurableError, match=f"execution a: .*{says}") as damage:
                run_or_replay(three, at)
            assert "\n" not in str(damage.value)
            change("UPDATE events SET kind = 'scheduled', call = '0/2' WHERE number = 4")
        assert isinstance(damage.value, LogCut)
        assert list(database.read("SELECT count(*) FROM events", {})) == [(count - 1,)]
        assert world.ran == ["do"] * 3, "nothing ran"
        worker.close()

    def test_a_log_of_a_newer_runtime_is_refused(self, database: Database):
        worker, at = log(database)
        run_or_replay(lambda: None, at)
        template = "UPDATE events SET data = :data WHERE number = 1"
        data = {"data": '{"owner":"w","version":1,"runtime":9,"input":"{}"}'}
        database.submit(Work(None, lambda tx: tx.run(template, data))).result()
        with pytest.raises(NewerVersion, match="written by runtime version 9"):
            run_or_replay(lambda: None, at)
        worker.close()

    def test_a_log_goes_from_store_to_store(self, database: Database):
        world = World(dies_at=2)
        do = world.doing("do")

        def both() -> object:
            return [do("one"), do("two")]

        worker, at = log(database)
        with pytest.raises(Died):
            run_or_replay(both, at)
        lines = list(export_lines("a", Events(database).read("a")))
        found = import_lines(lines)
        assert found.events == Events(database).read("a")
        with pytest.raises(DurableError, match="execution a: it is in this store already"):
            Events(database).adopt("a", found.events).result()
        Events(database).adopt("b", found.events).result()
        assert run_or_replay(both, EventLog(worker, "b")) == [
            {"done": "do", "value": "one"},
            {"done": "do", "value": "two"},
        ]
        assert world.ran == ["do"] * 3, "what was logged elsewhere does not run here"
        Events(database).adopt("c", Events(database).read("b")).result()
        run_or_replay(both, EventLog(worker, "c"))
        assert len(world.ran) == 3
        worker.close()

    def test_what_is_asked_elsewhere_than_in_a_workflow_is_refused(self, database: Database):
        do = World().doing("do")
        with pytest.raises(Misplaced, match="outside a workflow"):
            do()
        with pytest.raises(Misplaced, match="outside a workflow"):
            now()
        with pytest.raises(Misplaced, match="outside an activity"):
            attempt_key()
        assert do.function(1) == {"done": "do", "value": 1}

        @activity(backoff=AT_ONCE)
        def nested() -> object:
            return do()

        @activity
        async def coroutine() -> None:
            """Needs a loop."""

        worker, at = log(database)
        with pytest.raises(Misplaced, match=r"within an activity .*call the activity's `function`"):
            run_or_replay(nested, at)
        with pytest.raises(
            Misplaced, match="activity coroutine is a coroutine function, the workflow is none"
        ):
            run_or_replay(coroutine, EventLog(worker, "b"))
        with pytest.raises(Misplaced, match="would block the event loop"):
            asyncio.run(run_or_replay_async(lambda: 1, EventLog(worker, "c")))
        worker.close()
