"""What knee searches found, in rows and words."""

from records import record
from streamlanes.capacity import Capacity, capacities
from streamlanes.knee import CLIENT_PART, LATE
from streamlanes.record import FlagName, Record, StatusName


def step(rate: float, late: float, backend: str = "asyncio", bound: float = 50.0, **more: object) -> Record:
    axes = {"rate_per_s": rate, **more.pop("axes", {})}
    return record(backend, axes=axes, figures={LATE: late, CLIENT_PART: 1.0}, knee_bound_ms=bound, **more)


def one(*steps: Record) -> Capacity:
    (found,) = capacities(steps)
    return found


def test_a_bracket_is_said_with_both_ends():
    found = one(step(20_000, 5.0), step(33_600, 9.0), step(36_700, 400.0))
    assert (found.bears, found.fails, found.late_ms) == ("33,600 tokens/s", "36,700 tokens/s", 9.0)
    assert found.notes == []


def test_a_knee_beyond_the_provider_is_a_lower_bound():
    found = one(step(33_600, 9.0), step(36_700, 400.0, flags=[FlagName.PROVIDER_LIMITED]))
    assert found.bears == ">= 33,600 tokens/s"
    assert found.notes == ["provider-limited at 36,700 tokens/s"]


def test_a_knee_that_a_disturbed_host_hid_is_a_lower_bound():
    noisy = [step(36_700, 400.0, repetition=r, flags=[FlagName.NOISY_HOST]) for r in (1, 2)]
    found = one(step(33_600, 9.0), *noisy)
    assert found.bears == ">= 33,600 tokens/s"
    assert found.notes == ["host disturbed at 36,700 tokens/s"]


def test_a_knee_above_all_that_was_asked_is_a_lower_bound():
    found = one(step(20_000, 5.0))
    assert (found.bears, found.fails) == (">= 20,000 tokens/s", "")
    assert found.notes == ["no higher rate was asked for"]


def test_nothing_borne_is_an_upper_bound_or_nothing():
    assert one(step(625, 900.0)).bears == "< 625 tokens/s"
    assert one(step(625, 900.0)).late_ms is None
    limited = one(step(625, 900.0, flags=[FlagName.PROVIDER_LIMITED]))
    assert (limited.bears, limited.notes) == ("no rate", ["provider-limited at 625 tokens/s"])
    unsupported = one(step(625, 1.0, status=StatusName.UNSUPPORTED, reason="nofile: 64 needed"))
    assert (unsupported.bears, unsupported.notes) == ("no rate", ["nofile: 64 needed"])


def test_what_casts_doubt_is_noted():
    found = one(
        step(20_000, 5.0, flags=[FlagName.CAPPED]),
        step(10_000, 5.0, flags=[FlagName.NOISY_HOST]),
        step(10_000, 5.0, repetition=2),
        step(5_000, 5.0),
    )
    assert found.notes == [
        "search cut short",
        "never all in flight in 1 of 4 cells",
        "host disturbed in 1 of 4 cells",
    ]


def test_lines_are_named_by_what_sets_them_apart_and_never_by_the_rate():
    found = capacities(
        [
            step(20_000, 5.0, "threads", axes={"stack_kib": 256}),
            step(40_000, 900.0, "threads", axes={"stack_kib": 256}),
            step(10_000, 5.0, "threads", axes={"stack_kib": 512}),
            step(20_000, 5.0, "uvloop"),
            step(20_000, 900.0, "uvloop", bound=20.0),
        ]
    )
    assert [(each.line.label, each.knee.bound_ms) for each in found] == [
        ("uvloop", 20.0),
        ("uvloop", 50.0),
        ("threads, stack 256 KiB", 50.0),
        ("threads, stack 512 KiB", 50.0),
    ]


def test_a_run_without_a_search_has_none():
    assert capacities([record()]) == []
