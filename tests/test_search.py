"""The knee search against simulated systems: it ends, it finds, it goes on from where it was."""

import random
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from records import record
from streamlanes.cells import Axes, Cell
from streamlanes.errors import UserError
from streamlanes.knee import CLIENT_PART, LATE, RESOLUTION, Verdict, bracket
from streamlanes.plan import FixedPlan, InTurn
from streamlanes.record import FlagName, Record
from streamlanes.search import MOST_CELLS, KneePlan, Search, search

BOUND = 50.0


def cell(backend: str = "asyncio", calls: int = 2000, client: str = "streams", **axes: object) -> Cell:
    return Cell(lane="io", backend=backend, client=client, workload="steady", calls=calls, axes=Axes(**axes))


@dataclass
class System:
    """Client and provider in line, each with a rate at which its lateness has no end. noise: every lateness
    is multiplied by something between 1/noise and noise."""

    client_per_s: float
    provider_per_s: float = 1e9
    noise: float = 1.0
    seed: int = 0
    given: list[Cell] = field(default_factory=list)

    def late_ms(self, rate: float, most: float) -> float:
        return 5.0 / (1 - rate / most) if rate < most else 20_000.0

    def borne(self, rate: float) -> bool:
        both = (self.client_per_s, self.provider_per_s)
        return sum(self.late_ms(rate, most) for most in both) <= BOUND

    def measure(self, step: Cell) -> Record:
        self.given.append(step)
        rate = float(step.axes.rate_per_s or 0)
        draw = random.Random(f"{self.seed} {step.id}")
        times = self.noise ** draw.uniform(-1, 1)
        own = self.late_ms(rate, self.client_per_s) * times
        provider = self.late_ms(rate, self.provider_per_s) * times
        limited = provider > 5.0 * self.noise and provider > 0.6 * (own + provider)
        return record(
            step.backend,
            step.calls,
            step.repetition,
            client=step.client,
            workload=step.workload,
            axes=step.asked,
            figures={LATE: own + provider, CLIENT_PART: own},
            flags=[FlagName.PROVIDER_LIMITED] if limited else [],
            knee_bound_ms=step.knee_bound_ms,
        )


def carried_out(plan: Search | KneePlan | InTurn, system: System) -> list[Record]:
    done: list[Record] = []
    while (step := plan.next(done)) is not None:
        done.append(system.measure(step))
        assert done[-1].cell.id == step.id
        assert len(done) < 200
    return done


rates = st.floats(300, 3_000_000)


@given(client=rates, provider=rates, noise=st.floats(1.0, 2.0), seed=st.integers(0, 999))
@settings(max_examples=200)
def test_it_ends_and_never_measures_a_cell_twice(client: float, provider: float, noise: float, seed: int):
    wanted = search(cell())
    done = carried_out(wanted, System(client, provider, noise, seed))
    ids = [step.cell.id for step in done]
    assert 0 < len(ids) == len(set(ids)) <= MOST_CELLS
    repeated = [step.cell.repetition for step in done]
    assert max(repeated) <= 3
    assert all(step.cell.asked["rate_per_s"] <= wanted.most_per_s for step in done)


@given(client=rates)
@settings(max_examples=200)
def test_without_noise_the_knee_is_found(client: float):
    wanted, system = search(cell()), System(client)
    found = bracket(carried_out(wanted, system))
    low, high = found.bears_per_s, found.fails_per_s
    assert low is None or system.borne(low)
    assert high is None or not system.borne(high)
    if low is not None and high is not None:
        assert low < high <= RESOLUTION * low
    elif high is None:
        assert low == wanted.most_per_s
    else:
        assert high <= 20_000 / 32 * 1.01, "it went down as far as it may"
    assert found.limit in (None, Verdict.NOT_BORNE)


@given(client=rates, noise=st.floats(1.0, 1.3), seed=st.integers(0, 999))
@settings(max_examples=200)
def test_noise_moves_the_knee_by_no_more_than_itself(client: float, noise: float, seed: int):
    found = bracket(carried_out(search(cell()), System(client, noise=noise, seed=seed)))
    # At share u of its capacity a client is late by 5 / (1 - u) ms, and the provider by another 5.
    least = client * (1 - 5 / (BOUND / noise - 5))
    most = client * (1 - 5 / (BOUND * noise - 5))
    assert found.bears_per_s is None or found.bears_per_s <= most * 1.0001
    assert found.fails_per_s is None or found.fails_per_s >= least * 0.9999


@given(provider=st.floats(30_000, 500_000), times=st.floats(2.0, 10.0))
@settings(max_examples=100)
def test_where_the_provider_runs_out_first_the_knee_is_at_least_what_was_borne(provider: float, times: float):
    found = bracket(carried_out(search(cell()), System(provider * times, provider)))
    assert found.limit is Verdict.PROVIDER
    assert found.bears_per_s is not None
    assert found.fails_per_s is not None
    assert found.bears_per_s < provider
    assert found.fails_per_s <= RESOLUTION * found.bears_per_s


@given(client=rates, noise=st.floats(1.0, 1.5), cut=st.integers(0, MOST_CELLS), seed=st.integers(0, 99))
@settings(max_examples=100)
def test_it_goes_on_from_any_record_as_if_nothing_had_happened(
    client: float, noise: float, cut: int, seed: int
):
    system = System(client, noise=noise, seed=seed)
    whole = carried_out(search(cell()), system)
    again = search(cell())
    step = again.next(whole[:cut])
    assert (step.id if step else None) == (whole[cut].cell.id if cut < len(whole) else None)


def test_it_doubles_then_narrows():
    done = carried_out(search(cell()), System(60_000))
    asked = [step.cell.asked["rate_per_s"] for step in done if step.cell.repetition == 1]
    assert asked[:3] == [20_000, 40_000, 80_000]
    assert all(40_000 < rate < 80_000 for rate in asked[3:])


def test_it_halves_where_the_first_rate_is_too_much():
    asked = [step.cell.asked["rate_per_s"] for step in carried_out(search(cell()), System(3_300))]
    assert asked[:4] == [20_000, 10_000, 5_000, 2_500]


def test_no_more_is_asked_for_than_timers_can_pace_and_a_cell_may_hold():
    assert search(cell(calls=20)).most_per_s == 20_000, "a token a millisecond for each call"
    assert search(cell("threads", calls=20, client="timer")).most_per_s == 400_000
    assert search(cell(calls=2000)).most_per_s == 1_000_000
    long = search(cell(calls=2000, ramp_s=60))
    assert long.most_per_s == 250_000
    msgspec.structs.replace(long.cell, axes=Axes(ramp_s=60, rate_per_s=250_000)).load()


def test_its_cells_are_as_asked_with_the_bound_and_without_a_memory_pass():
    first = search(cell(ramp_s=3), 20.0, 12_345).next([])
    assert first is not None
    assert (first.knee_bound_ms, first.memory, first.axes.ramp_s) == (20.0, False, 3)
    assert first.axes.rate_per_s == 12_300
    assert first.id == "io/asyncio/streams/steady/2000/ramp_s=3/rate_per_s=12300/knee_bound_ms=20/r1"


@pytest.mark.parametrize(
    ("changes", "more", "word"),
    [
        ({"axes": Axes(rate_per_s=5)}, {}, "rate_per_s cannot be set"),
        ({"axes": Axes(gap_ms=5)}, {}, "gap_ms cannot be set"),
        ({"axes": Axes(tokens=5)}, {}, "tokens cannot be set"),
        ({}, {"bound_ms": 0.0}, "bound_ms is 0"),
        ({}, {"start_per_s": 3e6}, "start_per_s is 3,000,000"),
        ({}, {"start_per_s": 0.0}, "start_per_s is 0"),
        ({"workload": "chat"}, {}, "workload chat lets calls come and go"),
        ({"workload": "flood"}, {}, "rate_per_s means nothing to workload flood"),
        ({"axes": Axes(arrival="poisson")}, {}, "come and go"),
        ({"backend": "thread-pool", "axes": Axes(width=6)}, {}, "keeps 6 of 2,000 calls"),
    ],
)
def test_a_search_that_cannot_be_meant_is_one_clear_line(
    changes: dict[str, object], more: dict[str, float], word: str
):
    with pytest.raises(UserError, match=word) as error:
        search(msgspec.structs.replace(cell(), **changes), **more)
    assert "\n" not in str(error.value)


def test_a_pool_as_wide_as_the_calls_may_be_searched():
    assert search(cell("thread-pool", width=2000)).next([]) is not None


def test_searches_take_turns_every_other_one_backwards():
    systems = System(60_000)
    plan = KneePlan([search(cell(name)) for name in ("asyncio", "uvloop", "threads")])
    done = carried_out(plan, systems)
    assert [step.cell.backend for step in done[:6]] == [
        "asyncio", "uvloop", "threads", "threads", "uvloop", "asyncio",
    ]  # fmt: skip
    assert len(done) == 3 * len(carried_out(search(cell()), systems))


def test_what_is_ahead_shrinks_to_nothing():
    plan, system = KneePlan([search(cell()), search(cell("uvloop"))]), System(60_000)
    done: list[Record] = []
    ahead = [len(plan.ahead(done))]
    while (step := plan.next(done)) is not None:
        done.append(system.measure(step))
        ahead.append(len(plan.ahead(done)))
    assert ahead[0] == 2 * MOST_CELLS
    assert all(b < a for a, b in pairwise(ahead))
    assert ahead[-1] == 0


def test_a_search_that_is_given_fewer_cells_is_cut_short():
    wanted = search(cell(), most_cells=3)
    assert len(KneePlan([wanted]).ahead([])) == 3
    assert len(carried_out(wanted, System(60_000))) == 3


def test_a_run_may_hold_cells_and_searches():
    fixed = [cell(), cell("uvloop")]
    plan = InTurn(FixedPlan(fixed, 1), KneePlan([search(cell())]))
    done = carried_out(plan, System(60_000))
    assert {step.cell.id for step in done[:2]} == {one.id for one in fixed}
    assert all(step.cell.knee_bound_ms == BOUND for step in done[2:])
    assert len(done) > 5
    assert plan.ahead(done) == []
