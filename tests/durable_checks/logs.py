"""What a database must do for logs: who writes one, what it can hold, and what damage is."""

import pytest

from durable_rows import LONG_S, lapse
from replay_world import Died, World, kinds, log
from streamlanes.durable.activities import activity
from streamlanes.durable.database import Database, Work
from streamlanes.durable.errors import (
    DurableError,
    LeaseHeld,
    LeaseLost,
    LogCut,
    NewerVersion,
    OtherVersion,
    StateError,
)
from streamlanes.durable.events import Events
from streamlanes.durable.logfile import Exported, export_lines, import_lines
from streamlanes.durable.replay import EventLog, run_or_replay
from streamlanes.durable.running import Worker


class LogChecks:
    """Tests of one database: a subclass gives the fixture `database`."""

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
        found = import_lines(export_lines(Exported("a", 1, Events(database).read("a"))))
        assert (found.version, found.events) == (1, Events(database).read("a"))
        with pytest.raises(DurableError, match="execution a: it is in this store already"):
            Events(database).adopt("a", 1, found.events).result()
        Events(database).adopt("b", 1, found.events).result()
        assert run_or_replay(both, EventLog(worker, "b")) == [
            {"done": "do", "value": "one"},
            {"done": "do", "value": "two"},
        ]
        assert world.ran == ["do"] * 3, "what was logged elsewhere does not run here"
        Events(database).adopt("c", 1, Events(database).read("b")).result()
        run_or_replay(both, EventLog(worker, "c"))
        assert len(world.ran) == 3
        worker.close()

    def test_a_log_of_another_store_stays_on_its_version(self, database: Database):
        world = World(dies_at=2)
        do = world.doing("do")

        def both() -> object:
            return [do("one"), do("two")]

        old, new = Worker(database, "w", LONG_S, version=1), Worker(database, "w", LONG_S, version=2)
        with pytest.raises(Died):
            run_or_replay(both, EventLog(new, "a"))
        Events(database).adopt("b", 2, Events(database).read("a")).result()
        with pytest.raises(
            OtherVersion, match="execution b: it stays on version 2, this worker has version 1"
        ):
            run_or_replay(both, EventLog(old, "b"))
        run_or_replay(both, EventLog(new, "b"))
        assert len(world.ran) == 3
        Events(database).adopt("c", 2, Events(database).read("b")).result()
        ended = "SELECT version, status, ended FROM executions WHERE thread_id = 'c'"
        assert list(database.read(ended, {})) == [(2, "done", Events(database).read("b")[-1].at_s)]
        old.close()
        new.close()

    def test_a_log_that_is_done_and_has_no_end_is_cut(self, database: Database):
        world = World()
        do = world.doing("do")

        def once() -> object:
            return do()

        worker, at = log(database)
        run_or_replay(once, at)
        database.submit(Work(None, lambda tx: tx.run("DELETE FROM events WHERE kind = 'ended'", {}))).result()
        for ask in (lambda: run_or_replay(once, at), lambda: Events(database).read("a")):
            with pytest.raises(
                LogCut, match="a: it is done, and the end of its log is missing, after event 3"
            ):
                ask()
        assert world.ran == ["do"]
        worker.close()
