"""Each flag: facts that raise it, and facts that do not."""

import dataclasses

import numpy as np
import pytest

from facts_made import facts, host, quiet_hosts, schedule, timed
from streamlanes.facts import Facts
from streamlanes.flags import flags
from streamlanes.metrics import Calls
from streamlanes.record import FlagName


def raised(made: Facts) -> set[FlagName]:
    return {flag.name for flag in flags(made, Calls(made))}


def test_a_quiet_good_cell_has_none():
    assert raised(facts()) == set()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"cell_cores": 0.95}, FlagName.CLIENT_LIMITED),
        ({"provider_cores": 0.8}, FlagName.PROVIDER_LIMITED),
        ({"provider_ms": 9.0}, FlagName.PROVIDER_LIMITED),
        ({"host": quiet_hosts(busy_ns=2 * 10**9)}, FlagName.NOISY_HOST),
        ({"spin_ms": (5.0, 6.5)}, FlagName.NOISY_HOST),
        ({"host": (host(), host(cpu_total_ns=10**9, listen_overflows=3))}, FlagName.ACCEPT_LIMITED),
        ({"host": (host(throttled_periods=1), host(throttled_periods=4))}, FlagName.CPU_THROTTLED),
    ],
)
def test_each_is_raised_by_its_own_evidence(changes: dict[str, object], name: FlagName):
    plan = schedule()
    made = facts(plan, timed=timed(plan, **changes))
    assert raised(made) == {name}
    assert all(flag.evidence for flag in flags(made, Calls(made)))


@pytest.mark.parametrize(
    "changes",
    [
        {"cell_cores": 0.85},
        {"provider_cores": 0.6},
        {"provider_ms": 4.0},
        {"provider_ms": 6.0, "client_ms": 100.0},
        {"host": quiet_hosts(busy_ns=10**9 // 2)},
        {"spin_ms": (5.0, 6.0)},
    ],
)
def test_below_its_bound_none_is_raised(changes: dict[str, object]):
    plan = schedule()
    assert raised(facts(plan, timed=timed(plan, **changes))) == set()


def test_a_flat_top_below_the_target_is_a_cap():
    plan = schedule(30, arrival="burst", ramp_s=0.0, tokens=40.0)
    pass_ = timed(plan)
    life = pass_.calls.end - pass_.calls.sent
    wave = np.arange(30) // 10
    sent = pass_.calls.sent + wave * (int(life.max()) + 1)
    calls = dataclasses.replace(pass_.calls, sent=sent, end=sent + int(life.max()))
    made = facts(plan, timed=dataclasses.replace(pass_, calls=calls))
    assert FlagName.CAPPED in raised(made)
    wide = facts(plan, timed=dataclasses.replace(pass_, calls=calls), width=10)
    assert FlagName.CAPPED not in raised(wide), "a pool's own width is no cap"
    assert FlagName.BOUNDED in raised(wide)


def test_a_pool_that_never_has_to_wait_is_not_bounded():
    plan = schedule(30, ramp_s=30.0, tokens=2.0)
    assert plan.peak_in_flight < 5
    assert FlagName.BOUNDED not in raised(facts(plan, timed=timed(plan), width=5))


def test_calls_that_did_not_end_well_are_a_doubt_of_their_own():
    pass_ = timed(schedule())
    pass_.calls.outcome[:3] = [2, 4, 4]
    made = facts(timed=pass_)
    (flag,) = flags(made, Calls(made))
    assert (flag.name, flag.evidence) == (FlagName.FAILED_CALLS, {"truncated": 1, "connect_error": 2})


def test_a_slow_start_is_no_cap():
    plan = schedule(30, arrival="burst", ramp_s=0.0, tokens=40.0)
    pass_ = timed(plan)
    late = np.arange(30) * 100_000_000
    calls = dataclasses.replace(pass_.calls, sent=pass_.calls.sent + late, end=pass_.calls.end + late)
    made = facts(plan, timed=dataclasses.replace(pass_, calls=calls))
    assert Calls(made).peak_in_flight < 30
    assert FlagName.CAPPED not in raised(made)


def test_a_pool_as_wide_as_the_calls_is_not_bounded():
    assert FlagName.BOUNDED not in raised(facts(width=20))
