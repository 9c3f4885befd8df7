"""What replay must do on a database where code and log differ, or code asks in the wrong place."""

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from replay_world import AT_ONCE, Died, World, log
from streamlanes.durable.activities import activity, attempt_key, now, workflow
from streamlanes.durable.database import Database
from streamlanes.durable.errors import Diverged, DurableError, Misplaced, WorkflowChanged
from streamlanes.durable.events import Events
from streamlanes.durable.replay import EventLog, run_or_replay, run_or_replay_async


class DivergenceChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

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
