"""Every architecture on a real PostgreSQL; the rows behind their app on a real uvicorn."""

import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from architecture_checks import ArchitectureChecks, Steps, carried, grounds
from streamlanes.architectures.listening import Listener
from streamlanes.architectures.rows import Row, Rows
from streamlanes.architectures.web import Web
from streamlanes.durable.architecture import Architecture, Made
from streamlanes.durable.architectures import ARCHITECTURES, open_architecture
from streamlanes.durable.database import Database, T, Work, Write
from streamlanes.durable.errors import Unreachable
from streamlanes.durable.looping import Looping
from streamlanes.durable.opening import open_database
from streamlanes.local_postgres import Local


@pytest.fixture(params=sorted(ARCHITECTURES))
def make(request: pytest.FixtureRequest, server: Local, schema: str) -> Callable[[int], Architecture]:
    return lambda executions: open_architecture(request.param, grounds(server.dsn, executions, schema))


class TestOnPostgres(ArchitectureChecks):
    """See ArchitectureChecks."""


def test_two_workers_race_for_a_row_and_one_gets_it(server: Local, schema: str):
    found = carried(Web(grounds(server.dsn, 4, schema)), Steps([2] * 4))
    assert found.facts["conflicts"] >= 4, "a loser an execution"


def test_a_row_is_changed_by_whoever_read_it_last(server: Local, schema: str):
    database = open_database(server.dsn, schema=schema)
    rows = Rows(database, f"{schema}_told")
    try:
        rows.lay().result()
        assert rows.create(7).result()
        assert not rows.create(7).result()
        seen = rows.read(7)
        assert seen == Row(7, 0, 0, "", "open")
        one = rows.take(seen, "one").result()
        assert one == Row(7, 0, 1, "one", "open")
        assert rows.take(seen, "two").result() is None
        assert rows.take(seen, "one").result() == one, "asked again, its answer lost"
        two = rows.take(one, "two").result()
        assert rows.keep(one, b"late", last=False).result() is None
        kept = rows.keep(two, b"{}", last=True).result()
        assert kept == rows.read(7) == Row(7, 1, 3, "two", "done")
        assert rows.take(kept, "one").result() is None, "it is over"
        rows.create(8).result()
        assert rows.quiet(600.0) == []
        assert [row.execution for row in rows.quiet(0.0)] == [8], "what is over needs nobody"
        assert dict(rows.left()) == {7: 1, 8: 0}
    finally:
        database.close()


def ask(web: Web, method: str, number: object) -> tuple[int, dict]:
    host, port = web.address
    request = urllib.request.Request(f"http://{host}:{port}/executions/{number}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def opened(apps: list[Web], talk: Coroutine[Any, Any, T]) -> T:
    """What is done while apps are open."""

    async def soon() -> T:
        return await asyncio.wait_for(talk, 60)

    for each in apps:
        each.open()
    try:
        return asyncio.run(soon())
    finally:
        for each in apps:
            each.close()


async def until(so: Callable[[], object]) -> None:
    while not so():
        await asyncio.sleep(0.001)


@dataclass
class Gated(Steps):
    """Steps whose first waits at a gate. waiting: executions that came there, once for each time they did."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: list[int] = field(default_factory=list)

    async def work(self, execution: int, step: int) -> Made:
        if step == 0:
            self.waiting.append(execution)
            await self.gate.wait()
        return await super().work(execution, step)


def test_the_app_says_what_is_there_and_what_is_not(server: Local, schema: str):
    web = Web(grounds(server.dsn, 3, schema))

    async def talk() -> list[tuple[int, dict]]:
        await web.start(Steps([2, 2, 2]), Looping())
        await web.run(0)
        asked = [("GET", 0), ("POST", 0), ("GET", 1), ("GET", 3), ("POST", -1), ("GET", "x")]
        answers = [await asyncio.to_thread(ask, web, *each) for each in asked]
        await web.stop()
        return answers

    said = opened([web], talk())
    assert [status for status, _ in said] == [200, 409, 404, 404, 404, 422]
    assert said[0][1] == {
        "execution": 0,
        "step": 2,
        "version": 3,
        "owner": said[0][1]["owner"],
        "status": "done",
    }
    assert said[1][1] == {"detail": "execution 0 is there already"}
    assert said[2][1] == {"detail": "there is no execution 1; begin it with POST"}
    assert said[3][1] == {"detail": "there is no execution 3; there are 3, from 0"}


def test_an_execution_that_is_posted_twice_is_begun_once(server: Local, schema: str):
    web, steps = Web(grounds(server.dsn, 2, schema)), Gated([2, 2])

    async def post_twice() -> int:
        await web.start(steps, Looping())
        runs = [asyncio.create_task(web.run(0))]
        await until(lambda: steps.waiting)
        status, _ = await asyncio.to_thread(ask, web, "POST", 0)
        runs.append(asyncio.create_task(web.run(1)))
        await until(lambda: 1 in steps.waiting)  # what is told is heard in order: 0 a second time, then 1
        steps.gate.set()
        await asyncio.gather(*runs)
        await web.stop()
        return status

    assert opened([web], post_twice()) == 409
    assert steps.begun == {(number, step): 1 for number in range(2) for step in range(2)}
    assert steps.kept_steps == {0: [0, 1], 1: [0, 1]}


def test_of_several_apps_one_gets_an_execution(server: Local, schema: str):
    where, steps = grounds(server.dsn, 4, schema), Gated([2] * 4)
    apps = [Web(where), Web(where)]

    async def both() -> None:
        for each in apps:
            await each.start(steps, Looping())
        runs = [asyncio.create_task(apps[number % 2].run(number)) for number in range(4)]
        # Two workers an app: each has it or has lost it.
        await until(lambda: len(steps.waiting) + sum(each.facts()["conflicts"] for each in apps) == 4 * 4)
        steps.gate.set()
        await asyncio.gather(*runs)
        for each in apps:
            await each.stop()

    opened(apps, both())
    assert sorted(steps.waiting) == [0, 1, 2, 3]
    assert steps.kept_steps == {number: [0, 1] for number in range(4)}


class Twice:
    """A database that carries every request out and loses its answer, and so carries it out again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.read = database.read

    def submit(self, request: Write[T] | Work[T]) -> Any:
        self._database.submit(request).result()
        return self._database.submit(request)


def test_a_change_whose_answer_was_lost_is_still_its_callers(server: Local, schema: str):
    database = open_database(server.dsn, schema=schema)
    rows = Rows(Twice(database), f"{schema}_told")
    try:
        rows.lay().result()
        assert rows.create(7).result(), "it was new when it was asked for"
        assert not rows.create(7).result()
        seen = rows.read(7)
        one = rows.take(seen, "one").result()
        assert rows.take(seen, "two").result() is None
        assert rows.keep(one, b"{}", last=True).result() == rows.read(7) == Row(7, 1, 2, "one", "done")
    finally:
        database.close()


def test_only_what_is_new_is_told_to_have_begun(server: Local, schema: str):
    database, channel = open_database(server.dsn, schema=schema), f"{schema}_told"
    rows = Rows(database, channel)
    rows.lay().result()
    with psycopg.connect(server.dsn, autocommit=True) as listening:
        listening.execute(f"LISTEN {channel}".encode())
        for number in (7, 7, 8):
            rows.create(number).result()
        rows.fail(rows.take(rows.read(8), "one").result()).result()
        told = [each.payload for each in listening.notifies(timeout=30, stop_after=3)]
    assert told == ["begun 7", "begun 8", "ended 8 failed"]
    assert sorted(rows.told()) == ["begun 7", "ended 8 failed"], "the same, for whoever did not listen"
    database.close()


@pytest.mark.parametrize("what", ["sweep", "hear"])
def test_an_error_of_the_store_ends_the_app_and_is_what_its_users_get(
    server: Local, schema: str, monkeypatch: pytest.MonkeyPatch, what: str
):
    web, steps, now = Web(grounds(server.dsn, 2, schema)), Gated([1, 1]), threading.Event()
    gone = Unreachable(None, "no PostgreSQL", "start it")

    def quiet(rows: Rows, quiet_s: float) -> list[Row]:
        now.wait(30)
        raise gone

    heard = Listener.heard

    async def heard_until_now(listener: Listener) -> AsyncIterator[str]:
        async for text in heard(listener):
            yield text
            await until(now.is_set)
            raise gone

    if what == "sweep":
        monkeypatch.setattr(Rows, "quiet", quiet)
    else:
        monkeypatch.setattr(Listener, "heard", heard_until_now)

    async def run() -> list[BaseException | None]:
        await web.start(steps, Looping())
        first = asyncio.create_task(web.run(0))
        await until(lambda: steps.waiting)
        now.set()
        ends = [*await asyncio.gather(first, return_exceptions=True)]
        ends += await asyncio.gather(web.run(1), return_exceptions=True)
        await web.stop()
        return ends

    assert opened([web], run()) == [gone, gone]


def test_what_was_told_while_the_listening_connection_was_broken_is_heard_afterwards(
    server: Local, schema: str, monkeypatch: pytest.MonkeyPatch
):
    web, steps = Web(grounds(server.dsn, 2, schema)), Gated([1, 1])
    broken, mended, listen = asyncio.Event(), asyncio.Event(), Listener.open

    async def open_later(listener: Listener) -> None:
        broken.set()
        await mended.wait()
        await listen(listener)

    async def break_it() -> None:
        await web.start(steps, Looping())
        runs = [asyncio.create_task(web.run(0))]
        await until(lambda: steps.waiting)
        monkeypatch.setattr(Listener, "open", open_later)
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            template = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = %s"
            assert connection.execute(template, [f'LISTEN "{schema}_executions"']).fetchone() == (1,)
        await broken.wait()
        steps.gate.set()
        assert await asyncio.to_thread(ask, web, "POST", 1) == (202, {"execution": 1})
        while (await asyncio.to_thread(ask, web, "GET", 0))[1]["status"] == "open":
            await asyncio.sleep(0.001)
        assert not runs[0].done(), "nobody heard of its end"
        mended.set()
        await asyncio.gather(*runs)
        await until(lambda: steps.kept_steps[1])
        await web.stop()

    opened([web], break_it())
    assert steps.waiting == [0, 1]


def test_an_execution_is_over_when_whoever_kept_its_last_step_knows(server: Local, schema: str):
    """PostgreSQL tells of the end as soon as it is kept, and of its commit to a worker that hears it late."""

    class Late(Looping):
        async def result(self, of: Future[T]) -> T:
            value = await super().result(of)
            await asyncio.sleep(0.1)
            return value

    web, steps = Web(grounds(server.dsn, 1, schema)), Steps([1])

    async def run() -> list[int]:
        await web.start(steps, Late())
        await web.run(0)
        kept = list(steps.kept_steps[0])
        await web.stop()
        return kept

    assert opened([web], run()) == [0]
