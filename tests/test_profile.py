"""What a profile's tables mean, and what they cannot mean: one line for each mistake."""

import pytest

from profiles_made import SMALL, small
from streamlanes.backends import BACKENDS
from streamlanes.cells import Cell
from streamlanes.clients import CLIENTS
from streamlanes.errors import UserError
from streamlanes.estimate import total_seconds
from streamlanes.profile_files import load, parse
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.faults import Fault
from streamlanes.wishes import Wishes


def test_equal_cells_are_one():
    ids = [cell.id for cell in small().expand()]
    assert sorted(ids) == [
        "io/asyncio/timer/lesson/10/r1",
        "io/asyncio/timer/lesson/20/r1",
        "io/thread-pool/timer/lesson/10/width=2/r1",
        "io/thread-pool/timer/lesson/10/width=4/r1",
        "io/thread-pool/timer/lesson/20/width=2/r1",
        "io/thread-pool/timer/lesson/20/width=4/r1",
    ]


def test_quick_is_what_the_readme_says():
    cells = load("quick").expand()
    lesson = [cell for cell in cells if cell.workload == "lesson"]
    assert {cell.backend for cell in lesson} == set(BACKENDS)
    assert {cell.calls for cell in lesson} == {500}
    real = [cell for cell in cells if cell.lane == "io" and CLIENTS[cell.client].libraries]
    assert {(cell.client, cell.backend) for cell in real if cell.calls == 2000} == {
        ("aiohttp", "asyncio"),
        ("aiohttp", "uvloop"),
        ("aiohttp", "processes+uvloop"),
        ("requests", "threads"),
    }
    assert {(cell.workload, cell.axes.tls, cell.axes.rate_per_s) for cell in real} == {("steady", True, 3000)}
    assert {cell.client for cell in cells if cell.lane == "io"} == {"streams", "aiohttp", "requests", "floor"}
    big = [cell for cell in real if cell.calls == 2000 and cell.backend in ("asyncio", "uvloop")]
    assert {cell.repetition for cell in big} == {1, 2, 3}
    for name in ("cpu", "mixed"):
        ways = {cell.axes.offload for cell in cells if cell.lane == name}
        assert ways == {"inline", "threads", "processes"}
    assert [cell for cell in cells if cell.memory and cell.repetition > 1] == []


def test_the_profile_of_clients_has_every_library_over_tls_and_fits_twenty_minutes():
    profile = load("clients")
    cells = profile.expand()
    libraries = {name for name, info in CLIENTS.items() if info.libraries and info.chooses}
    for client in {*libraries, "streams"}:
        mine = [cell for cell in cells if cell.client == client and cell.axes.tls]
        forms = CLIENTS[client].forms
        assert {BACKENDS[cell.backend].waits for cell in mine} == set(forms)
        for backend in {cell.backend for cell in mine}:
            sizes = {cell.calls for cell in mine if cell.backend == backend and cell.memory}
            assert len(sizes) >= 3, f"{client} under {backend}: a slope takes three sizes"
    for client in ("streams", "aiohttp", "httpx", "openai", "anthropic"):
        pairs = {
            (cell.calls, cell.axes.tls): {other.backend for other in cells if _pair(other) == _pair(cell)}
            for cell in cells
            if cell.client == client and cell.repetition == 3
        }
        assert {"asyncio", "uvloop"} in pairs.values()
    plan = profile.plan()
    assert total_seconds(plan.ahead([])) < 20 * 60


def _pair(cell: Cell) -> tuple[object, ...]:
    return cell.client, cell.calls, cell.axes.tls, cell.repetition


def test_a_table_may_have_a_budget_and_memory_of_its_own():
    text = SMALL.replace(b"calls = [10, 20]", b"calls = [10]\nmemory = false\nbudget_s = 3").replace(
        b"seed = 3", b"budget_s = 9"
    )
    more = b"""
[[cells]]
backends = ["asyncio"]
client = "timer"
workload = "lesson"
calls = [30]
"""
    profile = parse(text + more, "small.toml", "small")
    found = {(cell.calls, cell.memory, cell.budget_s) for cell in profile.expand()}
    assert found == {(10, False, 3), (30, True, 9)}
    stricter = Wishes(budget_s=1.0).applied(profile).expand()
    assert {cell.budget_s for cell in stricter} == {1.0}, "the command line has the last word"


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        (b'"asyncio"', b'"asynco"', "asyncio"),
        (b'"timer"', b'"tmer"', "timer"),
        (b'"lesson"', b'"leson"', "lesson"),
        (b"[10, 20]", b"[0]", "calls is 0"),
        (b"width = [2, 4]", b"widht = [2]", "width"),
        (b"width = [2, 4]", b"width = [0]", "width is 0"),
        (b"width = [2, 4]", b"width = ['x']", "width"),
        (b"seed = 3", b'lane = "oi"', "io"),
        (b"seed = 3", b"budget_s = 0", "budget_s"),
        (b"width = [2, 4]", b"stack_kib = [33]", "stack_kib"),
        (b'"thread-pool"]', b'"threads"]', "stack_kib"),
    ],
)
def test_a_profile_that_cannot_be_meant_is_refused(old: bytes, new: bytes, word: str):
    assert old in SMALL
    text = SMALL.replace(old, new)
    if word == "stack_kib":
        text = text.replace(b"width = [2, 4]", b"stack_kib = [33]")
    with pytest.raises(UserError, match=word):
        parse(text, "small.toml", "small").expand()


def test_a_profile_without_cells_is_refused():
    with pytest.raises(UserError, match="no cell"):
        parse(b"", "small.toml", "small").expand()


PROVIDER = b"""
[[cells]]
backends = ["asyncio"]
client = "streams"
workload = "lesson"
calls = [10]
[provider]
tokens_per_chunk = 4
[provider.faults]
reset = 0.1
crlf = 0.2
"""


def test_the_provider_is_part_of_a_cell_and_of_its_name():
    (cell,) = parse(PROVIDER, "p.toml", "p").expand()
    assert cell.provider == Behaviour(tokens_per_chunk=4, faults={Fault.RESET: 0.1, Fault.CRLF: 0.2})
    assert cell.tokens_per_chunk == 4
    assert cell.id == (
        "io/asyncio/streams/lesson/10/provider=faults:crlf:0.2,reset:0.1,tokens_per_chunk:4/r1"
    )


def test_a_client_without_a_provider_and_a_table_of_defaults_change_nothing():
    for old, new in (
        (b'"streams"', b'"timer"'),
        (PROVIDER[PROVIDER.index(b"tokens_per") :], b"seed = 1"),
    ):
        (cell,) = parse(PROVIDER.replace(old, new), "p.toml", "p").expand()
        assert cell.provider is None
        assert "provider" not in cell.id


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"reset", b"rset", ["unknown fault 'rset'", "reset"]),
        (b"tokens_per_chunk", b"tokens_pr_chunk", ["tokens_pr_chunk", "did you mean 'tokens_per_chunk'"]),
        (b"tokens_per_chunk = 4", b"tokens_per_chunk = 0", ["tokens_per_chunk is 0"]),
        (b"tokens_per_chunk = 4", b"tokens_per_chunk = 'x'", ["int", "provider.tokens_per_chunk"]),
        (b"crlf = 0.2", b"crlf = 0.95", ["1.05 together"]),
        (b"crlf = 0.2", b"crlf = nan", ["share of crlf"]),
        (b"crlf = 0.2", b"crlf = 'often'", ["float", "faults"]),
    ],
)
def test_a_provider_that_cannot_be_meant_is_refused(old: bytes, new: bytes, words: list[str]):
    assert old in PROVIDER
    with pytest.raises(UserError) as error:
        parse(PROVIDER.replace(old, new), "p.toml", "p").expand()
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)
