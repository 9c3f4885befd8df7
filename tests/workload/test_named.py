"""Schedules: seeded, complete, and what their workloads promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlanes.errors import UserError
from streamlanes.workload import (
    Dist,
    Schedule,
    admitted,
    build,
    peak_in_flight,
    predicted_wall_s,
    resolve,
)


def schedule(name: str, calls: int, **axes: object) -> Schedule:
    return build(resolve(name, calls, axes), calls)


def test_the_same_seed_gives_the_same_calls():
    one, two = schedule("steady", 300, seed=5), schedule("steady", 300, seed=5)
    other = schedule("steady", 300, seed=6)
    assert (one.offset_ns == two.offset_ns).all()
    assert (one.offset_ns != other.offset_ns).any()


def test_setting_one_quantity_does_not_move_the_others():
    plain = schedule("steady", 50, tokens=Dist(20.0, 0.5))
    slower = schedule("steady", 50, tokens=Dist(20.0, 0.5), ttft_ms=Dist(900.0, 0.3))
    assert (np.diff(plain.first) == np.diff(slower.first)).all()


@pytest.mark.parametrize("calls", [1, 40, 500, 2000, 10000])
def test_steady_keeps_its_promises(calls: int):
    load = resolve("steady", calls, {})
    made = build(load, calls)
    ramp_s = max(2.0, calls / 2000)
    assert load.ramp_s == ramp_s
    assert made.rate_per_s == pytest.approx(min(20_000, 50 * calls), rel=0.01)
    ends = made.start_ns + made.life_ns
    assert ends.min() >= (ramp_s + 2) * 1e9, "every call ends at least 2 s after the ramp"
    assert peak_in_flight(made.start_ns, ends) == calls
    phases = made.offset_ns[made.first[:-1]] / 1e6 - load.ttft_ms.median
    assert phases.min() >= 0
    assert phases.max() < load.gap_ms.median + 1e-6


def test_lesson_is_half_a_second_at_once():
    made = schedule("lesson", 500)
    assert (made.start_ns == 0).all()
    assert 0.46 <= made.ideal_wall_s <= 0.5


def test_lockstep_is_due_at_the_same_instants():
    load = resolve("lockstep", 200, {})
    made = build(load, 200)
    due = made.offset_ns + np.repeat(made.start_ns, np.diff(made.first))
    assert len(np.unique(due % round(load.gap_ms.median * 1e6))) <= 2, "up to rounding to whole ns"
    assert len(np.unique(due)) < 400, "instants for 38,200 tokens"


def test_paced_calls_keep_their_own_rate_whatever_their_number():
    few, many = schedule("paced", 100), schedule("paced", 2000)
    for made in (few, many):
        assert set(np.diff(made.offset_ns[: made.first[1]])) == {100_000_000}
    assert many.rate_per_s == pytest.approx(20 * few.rate_per_s, rel=0.01)
    assert resolve("paced", 100, {"gap_ms": Dist(50.0)}).gap_ms.median == 50.0
    assert resolve("paced", 100, {"rate_per_s": 500}).gap_ms.median == 200.0


def test_poisson_arrivals_have_the_mean_asked_for():
    made = schedule("steady", 4000, arrival="poisson", ramp_s=8.0)
    gaps = np.diff(made.start_ns)
    assert gaps.min() >= 0
    assert gaps.mean() == pytest.approx(2e6, rel=0.1)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.15)


def test_lognormal_quantities_have_the_median_asked_for():
    made = schedule("steady", 4000, tokens=Dist(9.0, 0.4), ttft_ms=Dist(300.0, 0.5))
    counts = np.diff(made.first)
    assert np.median(counts) == pytest.approx(9, abs=1)
    assert counts.min() >= 1
    assert len(np.unique(counts)) > 5


@settings(max_examples=30)
@given(calls=st.integers(1, 60), tokens=st.floats(1, 30), sigma=st.floats(0, 1), seed=st.integers(0, 99))
def test_offsets_ascend_within_each_call(calls: int, tokens: float, sigma: float, seed: int):
    made = schedule("steady", calls, tokens=Dist(tokens, sigma), gap_ms=Dist(5.0, sigma), seed=seed)
    assert made.first[0] == 0
    assert made.first[-1] == made.tokens
    assert (np.diff(made.first) >= 1).all()
    for call in range(calls):
        mine = made.offset_ns[made.first[call] : made.first[call + 1]]
        assert (np.diff(mine) >= 0).all()
        assert mine[0] >= 0


def test_d5_the_default_pool_of_six_takes_eight_waves():
    made = schedule("lesson", 48, ttft_ms=100.0, tokens=1, gap_ms=0.001)
    assert predicted_wall_s(made, 6) == pytest.approx(0.8, rel=0.01)
    assert predicted_wall_s(made, 32) == pytest.approx(0.2, rel=0.01)
    assert predicted_wall_s(made, 48) == pytest.approx(0.1, rel=0.01)


def test_a_pool_admits_whole_waves_that_fit():
    made = schedule("lesson", 500)
    assert admitted(made, 2, 4.8) % 2 == 0
    fits = admitted(made, 64, 1.9)
    assert fits == 192
    assert predicted_wall_s(made.head(fits), 64) <= 1.9
    assert admitted(made, 64, 0.001) == 64, "one wave always"
    assert admitted(made, 1000, 9.0) == 500
    assert admitted(made, 64, 9.0) == 500, "a last wave need not be full"


def test_peak_in_flight_counts_an_end_before_a_start_at_the_same_instant():
    assert peak_in_flight(np.array([0, 5, 10]), np.array([5, 10, 15])) == 1
    assert peak_in_flight(np.array([0, 4, 9]), np.array([5, 10, 15])) == 2
    assert peak_in_flight(np.array([], dtype=np.int64), np.array([], dtype=np.int64)) == 0


@pytest.mark.parametrize(
    ("calls", "axes", "word"),
    [
        (0, {}, "calls is 0"),
        (-3, {}, "calls is -3"),
        (5, {"tokens": 0}, "tokens"),
        (5, {"gap_ms": 0}, "gap_ms"),
        (5, {"rate_per_s": 0}, "above 0"),
        (5, {"rate_per_s": float("inf")}, "rate_per_s"),
        (5, {"ttft_ms": -1}, "ttft_ms"),
        (5, {"arrival": "sideways"}, "sideways"),
        (5, {"tokens": Dist(5, 99)}, "sigma"),
        (100_000, {"tokens": 10_000}, "tokens"),
        (5, {"seed": -1}, "seed"),
    ],
)
def test_values_out_of_range_are_one_clear_line(calls: int, axes: dict[str, object], word: str):
    with pytest.raises(UserError) as error:
        build(resolve("steady", calls, axes), calls)
    assert word in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_workload_offers_the_nearest():
    with pytest.raises(UserError, match="steady"):
        resolve("stedy", 5, {})


@pytest.mark.parametrize(("calls", "each"), [(1, 1000), (20, 1000), (100, 200), (10_000, 2), (50_000, 1)])
def test_a_flood_is_due_at_once_and_bounded(calls: int, each: int):
    made = schedule("flood", calls)
    assert set(np.diff(made.first)) == {each}
    assert (made.start_ns == 0).all()
    assert (made.offset_ns == 1_000_000).all(), "everything is due a millisecond after its call's start"
    assert made.peak_in_flight == calls
    assert made.median_gap_ms is None


@pytest.mark.parametrize("axis", ["gap_ms", "rate_per_s", "arrival", "ramp_s"])
def test_a_flood_has_no_pace(axis: str):
    with pytest.raises(UserError, match=f"{axis} means nothing to workload flood"):
        resolve("flood", 5, {axis: "burst" if axis == "arrival" else 5.0})


def test_the_median_gap_is_within_calls():
    assert schedule("steady", 50, gap_ms=Dist(40.0), tokens=Dist(5.0)).median_gap_ms == pytest.approx(40.0)
    assert schedule("lesson", 50, tokens=Dist(1.0)).median_gap_ms is None
