"""What the steps of a knee search show: borne or not, by whose fault, and whether one look is enough."""

import pytest

from records import record
from streamlanes.knee import CLIENT_PART, LATE, Verdict, bracket, knees, verdict, without_searches
from streamlanes.record import FlagName, Record, StatusName

BOUND = 50.0


def step(rate: float = 20_000, late: float = 5.0, repetition: int = 1, **more: object) -> Record:
    figures = {LATE: late, CLIENT_PART: late, **more.pop("figures", {})}
    axes = {"rate_per_s": rate, **more.pop("axes", {})}
    return record(repetition=repetition, axes=axes, figures=figures, knee_bound_ms=BOUND, **more)


@pytest.mark.parametrize(
    ("lates", "found"),
    [
        ([5.0], Verdict.BORNE),
        ([900.0], Verdict.NOT_BORNE),
        ([45.0], Verdict.OPEN),
        ([55.0], Verdict.OPEN),
        ([45.0, 47.0], Verdict.BORNE),
        ([45.0, 55.0], Verdict.OPEN),
        ([45.0, 55.0, 30.0], Verdict.BORNE),
        ([45.0, 55.0, 51.0], Verdict.NOT_BORNE),
        ([50.0, 50.0], Verdict.BORNE),
    ],
)
def test_a_rate_near_the_bound_is_decided_by_the_median_of_three(lates: list[float], found: Verdict):
    assert verdict([step(late=late, repetition=r) for r, late in enumerate(lates, 1)]) is found


@pytest.mark.parametrize("flag", [FlagName.NOISY_HOST, FlagName.CPU_THROTTLED, FlagName.ACCEPT_LIMITED])
@pytest.mark.parametrize("late", [5.0, 900.0])
def test_one_look_on_a_disturbed_host_is_not_enough(flag: FlagName, late: float):
    assert verdict([step(late=late, flags=[flag])]) is Verdict.OPEN
    twice = [step(late=late, repetition=r, flags=[flag]) for r in (1, 2)]
    assert verdict(twice) is (Verdict.BORNE if late < BOUND else Verdict.HOST)


def test_a_rate_that_fails_on_a_quiet_host_too_is_the_clients():
    noisy = {"late": 900.0, "flags": [FlagName.NOISY_HOST]}
    assert verdict([step(**noisy), step(late=900.0, repetition=2)]) is Verdict.NOT_BORNE
    three = [step(**noisy), step(repetition=2), step(repetition=3, **noisy)]
    assert verdict(three) is Verdict.HOST


def test_what_is_the_backends_own_doing_is_clear():
    for flag in (FlagName.CLIENT_LIMITED, FlagName.BELOW_TIMER_GRAIN, FlagName.BUFFERED_PATH):
        assert verdict([step(flags=[flag])]) is Verdict.BORNE
    assert verdict([step(late=900.0, flags=[FlagName.CLIENT_LIMITED])]) is Verdict.NOT_BORNE


@pytest.mark.parametrize(
    "changes",
    [
        {"figures": {"counts.lost_tokens": 1}},
        {"flags": [FlagName.FAILED_CALLS]},
        {"flags": [FlagName.CAPPED]},
        {"status": StatusName.OVER_BUDGET},
        {"missing": {LATE: "no call that ended ok"}},
        {"missing": {"counts.lost_tokens": "unread"}},
    ],
)
def test_what_lost_or_did_not_hold_its_load_is_not_borne(changes: dict[str, object]):
    assert verdict([step(**changes)]) is Verdict.NOT_BORNE


def test_a_crash_is_looked_at_again():
    crash = {"status": StatusName.CRASHED, "reason": "signal 9"}
    assert verdict([step(**crash)]) is Verdict.OPEN
    assert verdict([step(**crash), step(repetition=2, **crash)]) is Verdict.NOT_BORNE
    assert verdict([step(**crash), step(repetition=2), step(repetition=3)]) is Verdict.BORNE


def test_the_providers_fault_is_not_the_clients():
    limited = {"late": 900.0, "flags": [FlagName.PROVIDER_LIMITED]}
    assert verdict([step(**limited, figures={CLIENT_PART: 8.0})]) is Verdict.PROVIDER
    assert verdict([step(**limited, missing={CLIENT_PART: "no call that ended ok"})]) is Verdict.PROVIDER
    assert verdict([step(**limited, figures={CLIENT_PART: 700.0})]) is Verdict.NOT_BORNE, "both failed"
    assert verdict([step(late=9.0, flags=[FlagName.PROVIDER_LIMITED])]) is Verdict.BORNE, (
        "it was borne all the same"
    )


def test_the_bracket_lies_between_the_highest_borne_and_the_lowest_that_was_not():
    rates = {10_000: 3.0, 20_000: 5.0, 28_300: 8.0, 40_000: 4000.0, 33_600: 200.0}
    found = bracket([step(rate, late) for rate, late in rates.items()])
    assert (found.bears_per_s, found.fails_per_s, found.limit) == (28_300, 33_600, Verdict.NOT_BORNE)
    assert bracket([step(20_000, 45.0)]).open_per_s == 20_000
    assert bracket([step(20_000, 5.0)]).fails_per_s is None
    assert bracket([step(20_000, 500.0)]).bears_per_s is None


def test_a_machine_that_cannot_run_it_says_why():
    found = bracket([step(10_000), step(20_000, status=StatusName.UNSUPPORTED, reason="nofile: 64 needed")])
    assert (found.bears_per_s, found.fails_per_s, found.not_run) == (10_000, None, "nofile: 64 needed")


def test_searches_are_told_apart_by_everything_but_the_rate():
    runs = [
        step(10_000),
        step(20_000, 900.0),
        step(10_000, backend="uvloop"),
        step(10_000, axes={"stack_kib": 256}, backend="threads"),
        step(10_000, axes={"stack_kib": 512}, backend="threads"),
        step(10_000, calls=500),
    ]
    plain = record()
    found = knees([*runs, plain])
    assert [len(knee.steps) for knee in found] == [2, 1, 1, 1, 1]
    assert [knee.bound_ms for knee in found] == [BOUND] * 5
    assert without_searches([*runs, plain]) == [plain]


def test_a_search_that_ended_early_is_cut_short():
    (wide,) = knees([step(10_000), step(20_000, 900.0)])
    (narrow,) = knees([step(10_000), step(11_000, 900.0)])
    assert (wide.cut_short, narrow.cut_short) == (True, False)
