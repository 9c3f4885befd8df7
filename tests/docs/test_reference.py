"""The reference of the record is made from the code and explains every name."""

from collections.abc import Mapping
from typing import Any

import pytest

from doc_pages import text
from facts_made import facts, schedule, timed
from jobs_fakes import small_schedule, tables
from streamlanes import cell as cell_main
from streamlanes import meanings, recording, reference
from streamlanes.backends import BACKENDS
from streamlanes.backends.base import Jobs, Options
from streamlanes.cells import Axes
from streamlanes.clients import CLIENTS
from streamlanes.distributions import MEMBERS
from streamlanes.lanes import LANES, lane
from streamlanes.probe.machine import machine
from streamlanes.record import CellInfo, FlagName, Quality, Record, StatusName
from streamlanes.samples import Outcome
from streamlanes.workload import WORKLOADS

METRICS = [metric for name in LANES for metric in lane(name).metrics]


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
