"""A log held against code, without a store: what a call is told, and how a divergence reads."""

import pytest

from streamlanes.durable.errors import Diverged
from streamlanes.durable.events import Event, Kind
from streamlanes.durable.history import SHOWN, History


def event(number: int, kind: Kind, call: str = "", name: str = "", data: str = "null") -> Event:
    return Event(number, call, kind, name, data, 0.0, 1)


BEGAN = event(1, Kind.SESSION, name="w", data="{}")


def test_attempts_are_counted_over_all_sessions():
    log = [
        BEGAN,
        event(2, Kind.SCHEDULED, "0/1", "pay", "[1]"),
        event(3, Kind.FAILED, "0/1", "pay"),
        event(4, Kind.AGAIN, "0/1", "pay"),
        event(5, Kind.SESSION, name="w"),
        event(6, Kind.AGAIN, "0/1", "pay"),
    ]
    known = History("a", log).ask("0/1", Kind.SCHEDULED, "pay", "[1]")
    assert known is not None
    assert (known.begun, known.failed, known.end) == (3, 1, None)
    over = event(7, Kind.COMPLETED, "0/1", "pay", "7")
    known = History("a", [*log, over]).ask("0/1", Kind.SCHEDULED, "pay", "[1]")
    assert known is not None
    assert known.end == over


def test_beyond_the_log_nothing_is_known():
    history = History("a", [BEGAN])
    assert history.ask("0/1", Kind.RECORDED, "now", None) is None
    history.finish("null")


def test_long_inputs_are_shown_where_they_part():
    same = "x" * 500
    log = [BEGAN, event(2, Kind.SCHEDULED, "0/1", "pay", f'"{same}one{same}"')]
    with pytest.raises(Diverged) as found:
        History("a", log).ask("0/1", Kind.SCHEDULED, "pay", f'"{same}two{same}"')
    assert "xone" in str(found.value)
    assert "xtwo" in str(found.value)
    assert len(str(found.value)) < 5 * SHOWN


def test_one_input_that_goes_on_is_told_from_the_other():
    log = [BEGAN, event(2, Kind.SCHEDULED, "0/1", "pay", "[1]")]
    with pytest.raises(Diverged, match=r"has activity pay with \[1\], the code asks for .* \[1\]2"):
        History("a", log).ask("0/1", Kind.SCHEDULED, "pay", "[1]2")
