"""Each act by itself, small: it is as expected, and it can tell when things are not."""

from concurrent.futures import Future
from dataclasses import replace
from importlib import import_module

import pytest

from streamlanes.demo import clock, outbox, sessions
from streamlanes.demo.acts import ACTS
from streamlanes.demo.figures import Stage
from streamlanes.durable.events import Events
from streamlanes.durable.history import History
from streamlanes.durable.outbox import Dispatcher
from streamlanes.durable.posting import Caller

SMALL = ("crash", "effects", "outbox", "sessions", "clock")


def figures(name: str, stage: Stage):
    module, attribute = ACTS[name].target.split(":")
    return getattr(import_module(module), attribute)(stage)


@pytest.mark.parametrize("name", SMALL)
def test_it_is_as_expected(name: str, stage: Stage):
    found = figures(name, stage)
    assert len(found) >= 4
    assert [figure for figure in found if not figure.holds] == []


@pytest.mark.parametrize("crash_at", [1, 12])
def test_replay_and_naive_retry_at_several_crash_points(crash_at: int, stage: Stage):
    found = figures("replay", replace(stage, crash_at=crash_at))
    assert [figure for figure in found if not figure.holds] == []
    count = max(10, crash_at)
    executions = {figure.what: figure.measured for figure in found if figure.what.endswith("of activities")}
    assert executions == {
        "naive: executions of activities": count + crash_at,
        "replay: executions of activities": count + 1,
    }


def test_a_receiver_that_drops_nothing_is_found_out(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    post, numbers = Caller.post, iter(range(9))
    monkeypatch.setattr(
        Caller, "post", lambda self, url, body, key=None: post(self, url, body, f"{key}-{next(numbers)}")
    )
    assert [figure.what for figure in outbox.act(stage) if not figure.holds] == ["effects at the receiver"]


def test_an_outbox_that_sends_nothing_is_found_out(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Dispatcher, "send_due", lambda self, lock: 0)
    wrong = {figure.what for figure in outbox.act(stage) if not figure.holds}
    assert {"deliveries", "messages left in the outbox"} <= wrong


def test_a_fence_that_nobody_hears_is_found_out(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    append = Events.append

    def deaf(self, lease, events, *, last=False):
        append(self, lease, events, last=last).exception()
        fine: Future[None] = Future()
        fine.set_result(None)
        return fine

    monkeypatch.setattr(Events, "append", deaf)
    wrong = {figure.what for figure in sessions.act(stage) if not figure.holds}
    assert "first session, when it wakes" in wrong


def test_a_log_that_is_not_held_against_the_code_is_found_out(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(History, "ask", lambda self, call, kind, name, data: self.calls.get(call))
    monkeypatch.setattr(History, "finish", lambda self, result: None)
    wrong = {figure.what for figure in clock.act(stage) if not figure.holds}
    assert "clock read past the log, second life" in wrong
