"""How a plan is carried out, with trials that are made up."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from streamlanes.chaos import session
from streamlanes.chaos.plan import MOST_BEGUN, ChaosPlan, Counts, Kill, Scenario, Size, Trial
from streamlanes.chaos.scenarios import places


class Nowhere:
    """Grounds for trials that need none."""

    @contextlib.contextmanager
    def place(self, store: str, name: str) -> Iterator[None]:
        yield None

    def close(self) -> None:
        pass


@pytest.fixture
def carried_out(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Trial]]:
    def carry_out(kills: int, strikes: Callable[[Kill], bool], at_once: int = 4, **how: float) -> list[Trial]:
        monkeypatch.setattr(session, "run_trial", lambda kill, *_: Trial(kill, strikes(kill), Counts(), None))
        plan, told = ChaosPlan(kills, ["sqlite"], places([Scenario.STEPS])), []
        done = session.carried_out(plan, Size(), Nowhere(), told.append, at_once, **how)
        assert told == done
        return done

    return carry_out


def test_those_that_did_not_strike_are_made_up_for(carried_out: Callable[..., list[Trial]]):
    done = carried_out(20, lambda kill: kill.number % 2 == 0)
    assert sum(one.struck for one in done) == 20
    assert sorted(one.kill.number for one in done) == list(range(len(done)))


@pytest.mark.parametrize("at_once", [1, 4])
def test_workers_that_never_strike_end_it(carried_out: Callable[..., list[Trial]], at_once: int):
    done = carried_out(20, lambda kill: False, at_once)
    assert 0 < len(done) <= MOST_BEGUN * (2 + at_once)


def test_nothing_is_begun_when_the_time_is_over(carried_out: Callable[..., list[Trial]]):
    assert carried_out(20, lambda kill: True, budget_s=0.0) == []
