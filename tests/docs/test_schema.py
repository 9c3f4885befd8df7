"""The published schema takes every record and refuses what is none."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from doc_pages import ROOT, text
from facts_made import facts, schedule, timed
from streamlanes import recording
from streamlanes.cells import Cell
from streamlanes.lanes import lane
from streamlanes.record import SCHEMA, Record, Status, StatusName, decode, encode


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
