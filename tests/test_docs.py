"""The documents keep up with the code: generated pages are fresh, names explained, links lead somewhere."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import typer

from facts_made import facts, schedule, timed
from jobs_fakes import small_schedule, tables
from streamlanes import cell as cell_main
from streamlanes import (
    cells,
    cli,
    flags,
    gate,
    knee,
    meanings,
    metrics,
    process,
    recording,
    reference,
    search,
)
from streamlanes.backends import BACKENDS
from streamlanes.backends.base import Jobs, Options
from streamlanes.cells import Axes, Cell
from streamlanes.clients import CLIENTS
from streamlanes.clients.base import ON_TIME_NS
from streamlanes.lanes import LANES, lane
from streamlanes.metrics import MEMBERS, Calls
from streamlanes.probe.machine import machine
from streamlanes.profile import parse
from streamlanes.provider import connection, deadlines, embeddings, routes, tls
from streamlanes.provider.behaviour import Behaviour, problem
from streamlanes.provider.faults import Fault
from streamlanes.record import SCHEMA, CellInfo, FlagName, Quality, Record, Status, StatusName, decode, encode
from streamlanes.samples import Outcome
from streamlanes.workload import WORKLOADS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PACKAGE = ROOT / "harness" / "streamlanes"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
METRICS = [metric for name in LANES for metric in lane(name).metrics]


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def flowing(name: str) -> str:
    """A page with its line breaks as spaces, so that a sentence can be looked for."""
    return " ".join(text(name).split())


# Generated pages


@pytest.mark.parametrize("name", reference.pages())
def test_generated_pages_are_fresh(name: str):
    assert reference.pages()[name] == text(name), f"{name} is behind the code: run `make docs`"


@pytest.mark.parametrize(
    ("explained", "known"),
    [
        (meanings.STATUSES, StatusName),
        (meanings.FLAGS, FlagName),
        (meanings.QUALITIES, Quality),
        (meanings.OUTCOMES, Outcome),
        (meanings.GROUPS, Record.__struct_fields__),
        (meanings.CELL, CellInfo.__struct_fields__),
        (meanings.AXES, Axes.__struct_fields__),
    ],
)
def test_every_name_is_explained_and_none_that_is_not_there(explained: Mapping[Any, object], known: Any):
    assert set(explained) == set(known)
    page = text("record.md")
    for name in explained:
        assert f"`{name.name.lower() if isinstance(name, Outcome) else name}`" in page


def test_what_provider_machine_and_interpreter_say_is_explained():
    said = {
        "requests": 1,
        "peak_in_flight": 1,
        "abandoned": 0,
        "unmarked": 0,
        "faults": {},
        "lateness_ms": {},
    }
    assert set(recording.provider(facts(timed=timed(schedule(), provider_stats=(said,))))) == set(
        meanings.PROVIDER
    )
    assert set(machine()) <= set(meanings.MACHINE)
    assert set(cell_main.facts()) <= set(meanings.INTERPRETER)


@pytest.mark.parametrize("name", BACKENDS)
def test_what_a_backend_says_of_itself_is_explained(name: str):
    timetable, samples = tables(small_schedule())
    backend = cell_main.load(BACKENDS[name].target)(
        Jobs(run=print, tables=(timetable,), calls=range(2)), Options(width=1, workers=1)
    )
    assert set(backend.facts()) - {"gc"} <= set(meanings.INTERPRETER)
    backend.close()
    timetable.close()
    samples.close()


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.path)
def test_every_figure_is_documented(metric: Any):
    page, fields = text("record.md"), reference.schema()["$defs"]["Record"]["properties"]
    above, _, last = metric.path.rpartition(".")
    if metric.path.count(".") == 1:
        rows = [line for line in page.splitlines() if line.startswith(f"| `{metric.path}` |")]
        assert [
            metric.unit, metric.better.value, metric.pool.value, metric.quality.value, metric.help
        ] in [[cell.strip() for cell in row.strip("|").split("|")][1:] for row in rows]  # fmt: skip
    else:
        assert last in MEMBERS
        assert f"| `{above}` |" in page
        assert f"| `.{last}` | {metric.unit} |" in page
    at: Any = {"properties": fields}
    for name in metric.path.split("."):
        at = at["properties"][name]
    assert metric.help in at["description"]


@pytest.mark.parametrize("name", [*BACKENDS, *CLIENTS, *WORKLOADS])
def test_every_backend_client_and_workload_is_listed(name: str):
    assert f"| `{name}` |" in text("record.md")


# The schema


def misfits(value: Any, wanted: Mapping[str, Any], root: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Where a value is not what its schema says: as much of JSON Schema as ours uses."""
    if "$ref" in wanted:
        yield from misfits(value, root["$defs"][wanted["$ref"].rpartition("/")[2]], root, at)
        return
    kinds = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int}
    names = wanted.get("type", [])
    types = [names] if isinstance(names, str) else names
    if types and not any(isinstance(value, kinds.get(kind, type(None))) for kind in types):
        yield f"{at} is {value!r}, not {types}"
    if "const" in wanted and value != wanted["const"]:
        yield f"{at} is {value!r}"
    if "enum" in wanted and value not in wanted["enum"]:
        yield f"{at} is {value!r}, not one of {wanted['enum']}"
    if "anyOf" in wanted and all(list(misfits(value, each, root, at)) for each in wanted["anyOf"]):
        yield f"{at} is {value!r}, none of {wanted['anyOf']}"
    if isinstance(value, list):
        for place, each in enumerate(value):
            yield from misfits(each, wanted.get("items", {}), root, f"{at}[{place}]")
    if isinstance(value, dict):
        yield from (f"{at} has no {name}" for name in wanted.get("required", []) if name not in value)
        known, others = wanted.get("properties", {}), wanted.get("additionalProperties", True)
        for name, each in value.items():
            if name not in known and others is False:
                yield f"{at}.{name} is not known"
            of = known.get(name, others if isinstance(others, dict) else {})
            yield from misfits(each, of, root, f"{at}.{name}")


CELL = Cell(lane="io", backend="asyncio", client="streams", workload="steady", calls=20)


@pytest.mark.parametrize(
    "made",
    [
        recording.record(CELL, lane("io"), {}, facts()),
        recording.record(CELL, lane("io"), {}, facts(memory="not read", drained=False)),
        recording.record(CELL, lane("io"), {}, facts(timed=timed(schedule(), spin_ms=(5.0, 7.0)))),
        recording.failed(CELL, lane("io"), {}, Status(StatusName.UNSUPPORTED, "no more threads", 3)),
        decode((ROOT / "tests" / "golden" / "cell-1.json").read_bytes()),
    ],
    ids=["ok", "over budget", "flagged", "unsupported", "golden"],
)
def test_records_fit_the_published_schema(made: Record):
    published = json.loads(text("record.schema.json"))
    assert list(misfits(json.loads(encode(made)), published, published)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "streamlanes.cell/0"),
        (("status", "name"), "fine"),
        (("flags",), [{"name": "tired"}]),
        (("time", "wall_s"), "long"),
        (("quality",), {"time.wall_s": "guessed"}),
        (("surprise",), 1),
    ],
)
def test_the_published_schema_refuses_what_is_no_record(path: tuple[str, ...], value: object):
    published = json.loads(text("record.schema.json"))
    raw = json.loads(encode(recording.record(CELL, lane("io"), {}, facts())))
    *above, last = path
    at = raw
    for name in above:
        at = at[name]
    at[last] = value
    assert list(misfits(raw, published, published))


def test_the_published_schema_wants_every_field():
    published = json.loads(text("record.schema.json"))
    assert list(misfits({"schema": SCHEMA}, published, published))


# The command line


def commands(group: typer.core.TyperGroup, above: str = "") -> dict[str, typer.core.TyperCommand]:
    """Every command by its full name, those within groups too."""
    found = {}
    for name, command in group.commands.items():
        found[f"{above}{name}"] = command
        if isinstance(command, typer.core.TyperGroup):
            found |= commands(command, f"{above}{name} ")
    return found


COMMANDS = commands(typer.main.get_command(cli.app))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_in_the_manual(name: str):
    page = text("cli.md")
    assert f"## `streamlanes {name}`" in page
    own = page.partition(f"## `streamlanes {name}`")[2].partition("\n## ")[0]
    for option in (one for one in COMMANDS[name].params if one.param_type_name == "option"):
        row = f"| {', '.join(f'`{word}`' for word in option.opts)} |"
        assert row in own, f"{name} {option.opts}"


def test_the_manual_names_no_option_that_is_not_there():
    known = {word for command in COMMANDS.values() for one in command.params for word in one.opts}
    tables_of_options = re.findall(r"^\| ((?:`-[^|]*`(?:, )?)+) \|", text("cli.md"), re.MULTILINE)
    assert tables_of_options
    named = {word for cell in tables_of_options for word in re.findall(r"`(-[^`]*)`", cell)}
    assert named <= known


def test_every_exit_code_is_in_the_manual():
    codes = [
        0,
        cli.FORBIDDEN,
        cli.BAD_INPUT,
        cli.INTERRUPTED,
        cli.PIPE_CLOSED,
        cli.TERMINATED,
        *gate.EXIT_CODES.values(),
    ]
    for code in codes:
        assert re.search(rf"^\| {code} \|", text("cli.md"), re.MULTILINE), code


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("profiles/*.toml")), ids=lambda path: path.stem)
def test_every_built_in_profile_is_in_the_manual(path: Path):
    assert f"| `{path.stem}` |" in text("cli.md")


def test_the_profile_of_the_manual_is_one():
    (example,) = re.findall(r"```toml\n(.*?)```", text("cli.md"), re.DOTALL)
    made = parse(example.encode(), "cli.md", "example").expand()
    assert {found.axes.width for found in made} == {None, 64, 500}
    assert {found.repetition for found in made} == {1, 2, 3}


# Methodology


@pytest.mark.parametrize(
    "sentence",
    [
        f"above {meanings.percent(flags.CLIENT_SHARE)} of a core",
        f"p99 above {flags.PROVIDER_P99_MS:g} ms and above {meanings.percent(flags.PROVIDER_OF_LATENESS)}",
        f"provider CPU above {meanings.percent(flags.PROVIDER_CPU_SHARE)}",
        f"held for {meanings.percent(flags.FLAT_SHARE)} of the time",
        f"reached {flags.REACHED_AGAIN} times or more",
        f"steal above {meanings.percent(flags.FOREIGN_SHARE)}",
        f"differs by more than {meanings.percent(flags.SPIN_DRIFT)}",
        f"within {ON_TIME_NS / 1e6:g} ms of its intended start",
        f"below {flags.GRAINS} grains",
        f"more than {meanings.percent(flags.BUFFERED_SHARE)} of the tokens",
        f"sent {flags.APART_MS:g} ms or more after",
        f"process used {meanings.percent(flags.READER_SHARE)} of a core or less",
        f"within a bound, {search.BOUND_MS:g} ms unless set",
        f"no more than {knee.RESOLUTION:.2f} times the first",
        f"within a factor of {knee.NEAR:g}",
        f"after {search.MOST_CELLS} cells",
        f"at most {search.MOST_PER_S:,} in all",
        f"every {process.READING_S * 1000:g} ms",
        f"origin, {process.LEAD_NS / 1e6:g} ms ahead",
        f"waits {process.SETTLE_S:g} s more",
        f"less than {metrics.MIN_PLATEAU_S:g} s left",
        f"fit {meanings.percent(cells.ADMIT_SHARE)} of it",
        f"its ideal wall and {lane('io').extra_s:g} s",
    ],
)
def test_methodology_says_the_thresholds_of_the_code(sentence: str):
    assert sentence in flowing("methodology.md")


@pytest.mark.parametrize("name", FlagName)
def test_methodology_explains_every_flag(name: FlagName):
    assert f"| `{name}` |" in text("methodology.md")


def test_the_worked_example_is_what_the_code_computes():
    page = text("methodology.md")
    rows = re.findall(r"^\| [^|]*\| [\d.]+ \| (\w+) \| ([\d.]+) \|$", page, re.MULTILINE)
    parts = {name: float(ms) for name, ms in rows}
    plan = schedule(2, tokens=3.0)
    calls = Calls(facts(plan, timed=timed(plan, **{f"{name}_ms": ms for name, ms in parts.items()})))
    assert set(parts) == {"queue", "connect", "accept", "provider", "client"}
    late, lag, stream = calls.lateness_ms[0], calls.start_lag_ms[0], calls.stream_ms[0]
    said = f"= {late:.1f} = {lag:.1f} (start lag) + {parts['provider']:g} + {parts['client']:g}"
    assert said in flowing("methodology.md")
    assert f"without the start lag: {stream:.1f} in the example" in flowing("methodology.md")
    assert np.ptp(calls.lateness_ms) < 1e-9


@pytest.mark.parametrize("page", ["README.md", "docs/README.template.md", "docs/your-own-call.md"])
def test_the_ten_lines_of_a_page_are_the_ones_that_are_tested(page: str):
    code = (DOCS / "examples" / "own_call.py").read_text(encoding="utf-8")
    assert f"```python\n{code}```" in (ROOT / page).read_text(encoding="utf-8")
    assert len([line for line in code.splitlines() if line.strip()]) == 10


def test_the_agents_step_is_the_one_that_is_tested():
    (step,) = re.findall(r"```python\n(async def step.*?)```", text("your-own-call.md"), re.DOTALL)
    assert step in (DOCS / "examples" / "own_agent.py").read_text(encoding="utf-8")


# Decisions, names and links


DECISIONS = sorted((DOCS / "decisions").glob("*.md"))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name)
def test_a_decision_has_its_four_parts(path: Path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith(f"# {int(path.name[:4])}. ")
    heads = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert heads == ["Context", "Decision", "Consequences", "What would change it"]


def test_decisions_are_numbered_without_a_gap():
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def places(page: str) -> list[str]:
    """What stands in backticks and looks like a file, a folder or a constant of the code."""
    words = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL))
    return [
        word for word in words if re.fullmatch(r"[\w/.-]+\.(py|toml|md)|[\w/.-]+/|_?[A-Z][A-Z_]{3,}", word)
    ]


SOURCE = "\n".join(
    path.read_text(encoding="utf-8") for path in [*PACKAGE.rglob("*.py"), *ROOT.glob("tests/**/*.py")]
)


@pytest.mark.parametrize("place", sorted(set(places(text("extending.md")))))
def test_every_place_that_extending_names_is_there(place: str):
    if re.fullmatch(r"_?[A-Z_]+", place):
        assert re.search(rf"\b{place}\b", SOURCE), place
    else:
        assert any((root / place).exists() for root in (ROOT, PACKAGE, DOCS)), place


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as they are made from them: lower case, words joined."""
    heads = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str):
    here = DOCS / page
    for target in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        if "{" in target or re.match(r"\w+:", target):
            continue  # filled in when the page is made, or not ours
        file, _, anchor = target.partition("#")
        base = ROOT if page == "README.template.md" else here.parent
        to = (base / file) if file else here
        assert to.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors(to.read_text(encoding="utf-8")), f"{page}: {target}"


# The provider


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_is_in_the_providers_page(fault: Fault):
    (row,) = [line for line in text("provider.md").splitlines() if line.startswith(f"| `{fault}` |")]
    ends = row.rstrip("| ").rpartition("|")[2]
    assert any(f"`{how.name.lower()}`" in ends for how in Outcome)


def test_the_providers_page_shows_every_setting_with_its_default():
    (example,) = re.findall(r"```toml\n(.*?)```", text("provider.md"), re.DOTALL)
    shown = parse(example.encode(), "provider.md", "example").provider
    named = set(re.findall(r"^(\w+) = ", example.partition("[provider.faults]")[0], re.MULTILINE))
    assert named | {"faults"} == set(Behaviour.__struct_fields__)
    assert msgspec.structs.replace(shown, at=None, limit_per_s=None, faults={}) == Behaviour()
    assert problem(shown) is None


@pytest.mark.parametrize(
    "sentence",
    [
        f"A head is {connection.MAX_HEAD_BYTES >> 10} KiB at most",
        f"a body {connection.MAX_BODY_BYTES >> 20} MiB",
        f"must be there {deadlines.REQUEST_S:g} s after",
        f"a TLS handshake after {tls.HANDSHAKE_S:g} s",
        f"more than {connection.MAX_UNREAD_BYTES >> 20} MiB of answers unread",
        f"have {embeddings.MOST_NUMBERS:,} numbers at most",
        f"{embeddings.DIMENSIONS} dimensions unless",
    ],
)
def test_the_providers_page_says_the_bounds_of_the_code(sentence: str):
    assert sentence in flowing("provider.md")


def test_the_providers_page_lists_every_path():
    for method, path in routes.ROUTES:
        assert f"`{method.decode()} {path.decode()}`" in text("provider.md")
