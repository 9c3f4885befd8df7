"""A log as lines: whole it comes back the same, cut or changed anywhere it is refused in one line."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlanes.durable.errors import DurableError, LogCut, NewerVersion
from streamlanes.durable.events import Event, Kind
from streamlanes.durable.logfile import export_lines, import_lines

EVENTS = [
    Event(number, f"0/{number}", Kind.SCHEDULED, "pay", '{"args":["crème 🦉"],"kwargs":{}}', 1.5, 1)
    for number in range(1, 7)
]
TEXT = "".join(export_lines("order-17", EVENTS))


def taken(text: str) -> object:
    return import_lines(text.splitlines(keepends=True))


def test_it_comes_back_the_same():
    found = import_lines(TEXT.splitlines(keepends=True))
    assert (found.thread_id, list(found.events)) == ("order-17", EVENTS)
    assert list(import_lines(export_lines("empty", [])).events) == []


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
    try:
        found = list(import_lines(changed.splitlines(keepends=True)).events)
    except DurableError as error:
        found = str(error).splitlines()
        assert len(found) == 1
        return
    assert found == EVENTS, "a change in the head's thread_id or in white space"


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
    with pytest.raises(LogCut, match="are not those that were exported"):
        import_lines([*lines[:-1], lines[-1].replace('"pay"', '"pax"')])


@pytest.mark.parametrize("text", ["", "\n", "{}", "[]\n", '{"schema":"other/1"}\n', "x" * 100])
def test_what_is_no_log_is_said(text: str):
    with pytest.raises(LogCut, match="does not begin like an exported log"):
        taken(text)


def test_a_newer_schema_is_refused():
    with pytest.raises(NewerVersion, match=r"schema 'streamlanes\.log/9'"):
        taken(json.dumps({"schema": "streamlanes.log/9"}) + "\n")
