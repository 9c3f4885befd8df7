"""Profiles and the command line's wishes: strict, in one line."""

from pathlib import Path

import pytest

from streamlanes.backends import BACKENDS
from streamlanes.cells import Cell
from streamlanes.clients import CLIENTS
from streamlanes.errors import UserError
from streamlanes.estimate import total_seconds
from streamlanes.plan import FixedPlan
from streamlanes.profile import Profile, Wishes, load, parse, parse_axes, parse_setting
from streamlanes.provider.behaviour import Behaviour
from streamlanes.provider.faults import Fault
from streamlanes.search import MOST_CELLS

SMALL = b"""
[run]
seed = 3
[[cells]]
backends = ["asyncio", "thread-pool"]
client = "timer"
workload = "lesson"
calls = [10, 20]
sweep = { width = [2, 4] }
"""


def small() -> Profile:
    return parse(SMALL, "small.toml", "small")


def test_equal_cells_are_one():
    ids = [cell.id for cell in small().expand()]
    assert ids == [
        "io/asyncio/timer/lesson/10/r1",
        "io/asyncio/timer/lesson/20/r1",
        "io/thread-pool/timer/lesson/10/width=2/r1",
        "io/thread-pool/timer/lesson/10/width=4/r1",
        "io/thread-pool/timer/lesson/20/width=2/r1",
        "io/thread-pool/timer/lesson/20/width=4/r1",
    ] or sorted(ids) == sorted(set(ids))
    assert len(ids) == 6


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


def test_wishes_replace_the_matrix_with_one_repetition():
    wishes = Wishes(backends=["threads"], calls=[7], settings={"width": [1, 2], "seed": [9]})
    cells = wishes.applied(load("quick")).expand()
    assert [(cell.backend, cell.client, cell.workload, cell.calls, cell.repetition) for cell in cells] == [
        ("threads", "streams", "steady", 7, 1)
    ]
    assert cells[0].axes.seed == 9
    assert wishes.applied(load("quick")).name == "custom", "it is not the quick profile any more"
    assert len(Wishes(repeats=2, backends=["threads"]).applied(load("quick")).expand()) == 2


def test_no_wish_leaves_the_profile_alone():
    assert Wishes().applied(small()) == small()
    assert len(Wishes(repeats=2).applied(small()).expand()) == 12


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[run]\nsed = 1\n", ["sed", "seed"]),
        (b"[[cells]]\nbackend = []\n", ["backend", "backends"]),
        (b"[run\n", ["small.toml"]),
        (b"\xff\xfe", ["small.toml"]),
        (b"[run]\nseed = 'x'\n", ["int"]),
        (b"[run]\nrepeats = 0\n", ["repeats"]),
        (b"name = '..'\n", ["'..'"]),
        (b"name = " + b"[" * 5000, ["nested too deeply"]),
        (b"name = 'a/b'\n", ["a/b"]),
    ],
)
def test_a_bad_profile_names_what_and_where(text: bytes, words: list[str]):
    with pytest.raises(UserError) as error:
        parse(text, "small.toml", "small")
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


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


def test_an_unknown_profile_offers_the_nearest_and_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(UserError, match="quick"):
        load("quik")
    with pytest.raises(UserError, match=r"none\.toml"):
        load(str(tmp_path / "none.toml"))
    with pytest.raises(UserError, match="no regular file"):
        load(f"{tmp_path}/")
    (tmp_path / "big.toml").write_bytes(b"#" * (1 << 21))
    with pytest.raises(UserError, match="larger than 1 MiB"):
        load(str(tmp_path / "big.toml"))


def test_settings_are_numbers_words_and_distributions():
    assert parse_setting("width=6,64") == ("width", [6, 64])
    assert parse_setting("ramp_s=2.5") == ("ramp_s", [2.5])
    assert parse_setting("ttft_ms=200~0.5") == ("ttft_ms", [{"median": 200, "sigma": 0.5}])
    assert parse_axes({"ttft_ms": {"median": 200, "sigma": 0.5}}).ttft_ms.sigma == 0.5
    for bad in ("width", "width=", "wdth=3"):
        with pytest.raises(UserError, match="width"):
            parse_setting(bad)


def test_a_path_is_no_number_and_no_distribution():
    assert parse_setting("trace=2023,~/t.csv,1e5") == ("trace", ["2023", "~/t.csv", "1e5"])
    assert parse_axes({"trace": "2023"}).trace == "2023"


def test_a_trace_brings_its_workload(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"timestamp": 0, "input_length": 1, "output_length": 2}\n')
    wishes = Wishes(calls=[1], settings={"trace": [str(path)]})
    assert {cell.workload for cell in wishes.applied(small()).expand()} == {"trace"}
    with pytest.raises(UserError, match="workload trace"):
        Wishes(calls=[1], workload="steady", settings={"trace": [str(path)]}).applied(small()).expand()


def test_an_axis_that_means_nothing_to_a_backend_is_dropped_not_refused():
    wishes = Wishes(backends=["asyncio", "thread-pool"], settings={"width": [5], "stack_kib": [256]})
    cells = {cell.backend: cell for cell in wishes.applied(small()).expand()}
    assert cells["asyncio"].axes.width is None
    assert cells["thread-pool"].axes.width == 5
    assert cells["thread-pool"].axes.stack_kib == 256


KNEES = (
    SMALL
    + b"""
[[knee]]
backends = ["asyncio", "threads"]
client = "streams"
calls = [500]
bound_ms = 20
set = { ramp_s = 1 }
"""
)


def test_a_profile_may_hold_cells_and_knees():
    profile = parse(KNEES, "small.toml", "small")
    assert profile.expand() == small().expand()
    found = profile.searches()
    assert [(one.cell.backend, one.cell.workload, one.cell.knee_bound_ms) for one in found] == [
        ("asyncio", "steady", 20.0),
        ("threads", "steady", 20.0),
    ]
    ahead = profile.plan().ahead([])
    assert [cell.id for cell in ahead[:6]] == [cell.id for cell in FixedPlan(small().expand(), 3).cells]
    assert len(ahead) == 6 + 2 * MOST_CELLS


def test_a_profile_of_knees_alone_is_one():
    alone = parse(KNEES.partition(b"[[cells]]")[0] + KNEES[KNEES.index(b"[[knee]]") :], "k.toml", "k")
    assert alone.expand() == []
    assert alone.plan().next([]) is not None


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        (b"bound_ms = 20", b"bound_m = 20", "bound_ms"),
        (b"bound_ms = 20", b"bound_ms = 0", "bound_ms is 0"),
        (b"bound_ms = 20", b"bound_ms = 'x'", "knee"),
        (b"bound_ms = 20", b"repeats = 2", "repeats"),
        (b"bound_ms = 20", b"most_cells = 0", "most_cells is 0"),
        (b"bound_ms = 20", b"most_cells = 99", "from 1 to"),
        (b"ramp_s = 1", b"rate_per_s = 1", "rate_per_s cannot be set"),
        (b"calls = [500]", b"calls = []", "names no backend or no size"),
        (b"calls = [500]", b"calls = [500]\nworkload = 'code'", "come and go"),
        (b'"threads"', b'"thread-pool"', "calls in flight"),
    ],
)
def test_a_knee_that_cannot_be_meant_is_refused(old: bytes, new: bytes, word: str):
    head, table = KNEES[: KNEES.index(b"[[knee]]")], KNEES[KNEES.index(b"[[knee]]") :]
    assert old in table
    with pytest.raises(UserError, match=word) as error:
        parse(head + table.replace(old, new), "small.toml", "small").plan()
    assert "\n" not in str(error.value)


def test_the_command_line_seeks_knees_in_place_of_the_matrix():
    wished = Wishes(knee=True, backends=["asyncio", "uvloop"], clients=["streams"], calls=[2000])
    profile = wished.applied(load("quick"))
    assert (profile.name, profile.cells) == ("custom", [])
    assert [one.cell.id for one in profile.searches()] == [
        f"io/{name}/streams/steady/2000/rate_per_s=20000/knee_bound_ms=50/r1"
        for name in ("asyncio", "uvloop")
    ]
    every = Wishes(knee=True).applied(load("quick")).searches()
    assert {one.cell.backend for one in every} == {n for n, info in BACKENDS.items() if not info.bounded}
    swept = Wishes(knee=True, settings={"stack_kib": [256, 512]}, backends=["threads"]).applied(small())
    assert [one.cell.axes.stack_kib for one in swept.searches()] == [256, 512]


def test_what_means_nothing_to_a_knee_is_refused():
    with pytest.raises(UserError, match="--repeats"):
        Wishes(knee=True, repeats=3).applied(small())


def test_another_matrix_drops_the_profiles_knees():
    profile = parse(KNEES, "small.toml", "small")
    assert Wishes(calls=[7]).applied(profile).knee == []
    assert Wishes(repeats=2).applied(profile).knee == profile.knee
    assert Wishes(calls=[7]).applied(parse(KNEES, "k.toml", "k")).name == "custom"


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


def test_heavy_tails_and_yes_or_no_are_settings_too():
    assert parse_setting("gap_ms=20^1.5") == ("gap_ms", [{"median": 20, "tail": 1.5}])
    assert parse_setting("tls=true,false") == ("tls", [True, False])
    assert parse_axes({"tls": True}).tls is True
    with pytest.raises(UserError, match="tls"):
        parse_axes({"tls": "yes"})


def test_tls_is_an_axis_of_clients_with_a_network():
    wishes = Wishes(backends=["asyncio"], clients=["timer", "streams"], settings={"tls": [True]})
    ids = [cell.id for cell in wishes.applied(small()).expand()]
    assert ids == ["io/asyncio/timer/steady/500/r1", "io/asyncio/streams/steady/500/tls=true/r1"]


def test_backends_that_nobody_named_are_those_that_fit_the_client():
    cells = Wishes(clients=["requests", "aiohttp"], calls=[5]).applied(load("quick")).expand()
    found = {client: {cell.backend for cell in cells if cell.client == client} for client in CLIENTS}
    assert found["requests"] >= {"threads"}
    assert found["aiohttp"] >= {"asyncio", "uvloop"}
    assert found["requests"].isdisjoint(found["aiohttp"])
    named = Wishes(clients=["requests"], backends=["asyncio"], calls=[5]).applied(load("quick"))
    assert [cell.backend for cell in named.expand()] == ["asyncio"], "it ends unsupported, and says why"
