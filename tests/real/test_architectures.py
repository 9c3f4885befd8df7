"""Every architecture on a real PostgreSQL; the rows behind their app on a real uvicorn."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest

from architecture_checks import ArchitectureChecks, Steps, carried, grounds
from streamlanes.architectures.rows import Row, Rows
from streamlanes.architectures.web import Web
from streamlanes.durable.architecture import Architecture
from streamlanes.durable.architectures import ARCHITECTURES, open_architecture
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


def test_the_app_says_what_is_there_and_what_is_not(server: Local, schema: str):
    web = Web(grounds(server.dsn, 3, schema))

    def ask(method: str, number: object) -> tuple[int, dict]:
        host, port = web.address
        request = urllib.request.Request(f"http://{host}:{port}/executions/{number}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    async def talk() -> list[tuple[int, dict]]:
        await web.start(Steps([2, 2, 2]), Looping())
        await web.run(0)
        asked = [("GET", 0), ("POST", 0), ("GET", 1), ("GET", 3), ("POST", -1), ("GET", "x")]
        answers = [await asyncio.to_thread(ask, *each) for each in asked]
        await web.stop()
        return answers

    web.open()
    try:
        said = asyncio.run(talk())
    finally:
        web.close()
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
