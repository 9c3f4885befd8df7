"""A log as lines: whole it comes back the same, cut or changed anywhere it is refused in one line."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlanes.durable.errors import DurableError, LogCut, NewerVersion
from streamlanes.durable.events import Event, Kind
from streamlanes.durable.logfile import Exported, export_lines, import_lines

EVENTS = [
    Event(number, f"0/{number}", Kind.SCHEDULED, "pay", '{"args":["crème 🦉"],"kwargs":{}}', 1.5, 1)
    for number in range(1, 7)
]
WHOLE = Exported("order-17", 2, EVENTS)
TEXT = "".join(export_lines(WHOLE))


def taken(text: str) -> Exported:
    return import_lines(text.splitlines(keepends=True))


def test_it_comes_back_the_same():
    empty = Exported("empty", 1, [])
    assert [taken(TEXT), import_lines(export_lines(empty))] == [WHOLE, empty]


@settings(deadline=None)
@given(st.integers(1, len(TEXT) - 1))
def test_cut_anywhere_it_is_refused(at: int):
    with pytest.raises(LogCut) as cut:
        taken(TEXT[:at])
    assert "\n" not in str(cut.value)
    assert "export" in str(cut.value), "it says what to do"


@settings(deadline=None)
@given(st.integers(0, len(TEXT) - 1), st.characters(codec="ascii"))
def test_changed_anywhere_it_is_refused_or_the_same(at: int, other: str):
    changed = TEXT[:at] + other + TEXT[at + 1 :]
    said = ""
    try:
        found = taken(changed)
    except DurableError as error:
        found, said = WHOLE, str(error)
    assert "\n" not in said
    assert found == WHOLE, "a change in white space"


def test_a_cut_is_named_by_its_line():
    lines = TEXT.splitlines(keepends=True)
    with pytest.raises(LogCut, match=r"order-17: its log .* cut after line 4: 3 of 6 events; export"):
        import_lines(lines[:4])
    with pytest.raises(LogCut, match="cut at line 5: 3 of 6 events"):
        import_lines([*lines[:4], lines[4][:20]])
    with pytest.raises(LogCut, match="cut at line 4: 2 of 6 events"):
        import_lines([*lines[:3], *lines[4:]])
    with pytest.raises(LogCut, match="goes on after its 6 events"):
        import_lines([*lines, lines[-1]])
    for old, new in (('"pay"', '"pax"'), ("order-17", "order-71"), ('"version":2', '"version":1')):
        with pytest.raises(LogCut, match="its head or its events are not those that were exported"):
            taken(TEXT.replace(old, new))


@pytest.mark.parametrize("text", ["", "\n", "{}", "[]\n", '{"schema":"other/1"}\n', "x" * 100])
def test_what_is_no_log_is_said(text: str):
    with pytest.raises(LogCut, match="does not begin like an exported log"):
        taken(text)


def test_a_newer_schema_is_refused():
    with pytest.raises(NewerVersion, match=r"schema 'streamlanes\.log/9'"):
        taken(json.dumps({"schema": "streamlanes.log/9"}) + "\n")


def test_a_schema_that_names_no_version_is_refused():
    """Version 1 would be a guess, and a worker of another one then goes on under it."""
    head = {"schema": "streamlanes.log/1", "thread_id": "order-17", "events": 0, "sha256": ""}
    with pytest.raises(DurableError, match="not say which runtime version it stays on; export it again"):
        taken(json.dumps(head) + "\n")


@pytest.mark.parametrize("version", [0, -1, 2**63, 1.0, None])
def test_a_version_that_is_none_is_refused(version: object):
    with pytest.raises(LogCut, match="the head of the log is not whole"):
        taken(TEXT.replace('"version":2', f'"version":{json.dumps(version)}'))


@pytest.mark.parametrize(
    ("name", "value"), [("epoch", 2**63), ("epoch", float("inf")), ("at_s", float("nan")), ("name", "\ud800")]
)
def test_an_event_that_no_store_can_hold_is_refused(name: str, value: object):
    lines = TEXT.splitlines(keepends=True)
    lines[1] = json.dumps({**json.loads(lines[1]), name: value}) + "\n"
    with pytest.raises(LogCut, match="cut at line 2: 0 of 6 events"):
        import_lines(lines)
