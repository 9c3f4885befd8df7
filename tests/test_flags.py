"""Each flag: facts that raise it, and facts that do not."""

import dataclasses

import numpy as np
import pytest

from facts_made import facts, host, quiet_hosts, schedule, timed
from streamlanes.clients import CLIENTS
from streamlanes.facts import Facts, TimedPass
from streamlanes.flags import flags
from streamlanes.metrics import Calls
from streamlanes.record import FlagName
from streamlanes.workload import Ns, build, resolve


def raised(made: Facts) -> set[FlagName]:
    return {flag.name for flag in flags(made, Calls(made))}


def test_a_quiet_good_cell_has_none():
    assert raised(facts()) == set()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"cell_cores": 0.95}, FlagName.CLIENT_LIMITED),
        ({"cell_cores": (0.1, 0.95)}, FlagName.CLIENT_LIMITED),
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
        {"cell_cores": (0.6, 0.6)},
        {"provider_cores": 0.6},
        {"provider_ms": 4.0},
        {"provider_ms": 6.0, "client_ms": 100.0},
        {"host": quiet_hosts(busy_ns=10**9 // 2)},
        {"spin_ms": (5.0, 6.0)},
        {"host": (host(listen_overflows=3), host(cpu_total_ns=10**9, listen_overflows=3))},
        {"host": (host(throttled_periods=4), host(throttled_periods=4))},
    ],
)
def test_below_its_bound_none_is_raised(changes: dict[str, object]):
    plan = schedule()
    assert raised(facts(plan, timed=timed(plan, **changes))) == set()


@pytest.mark.parametrize(("cores", "limited"), [(1.3, False), (1.5, True)])
def test_a_provider_has_all_the_cpus_of_its_set(cores: float, limited: bool):
    plan = schedule()
    made = facts(plan, timed=timed(plan, provider_cores=cores), provider_cpus=2.0)
    assert raised(made) == ({FlagName.PROVIDER_LIMITED} if limited else set())


@pytest.mark.parametrize(
    ("foreign_s", "steal_s", "noisy"), [(-2.0, 1.2, True), (-2.0, 0.8, False), (0.0, 0.0, False)]
)
def test_coarse_ticks_do_not_hide_the_steal(foreign_s: float, steal_s: float, noisy: bool):
    after = host(cpu_busy_ns=0, cpu_steal_ns=round(steal_s * 1e9), cpu_total_ns=20 * 10**9)
    plan = schedule()
    made = facts(plan, timed=timed(plan, host=(host(), after), ours_ns=round(-foreign_s * 1e9)))
    assert raised(made) == ({FlagName.NOISY_HOST} if noisy else set())


def pooled(calls: int, admitted: int) -> TimedPass:
    """A pass of calls that are due at once, of which a pool lets so many go at a time."""
    pass_ = timed(schedule(calls, arrival="burst", ramp_s=0.0, tokens=40.0))
    life = int((pass_.calls.end - pass_.calls.sent).max())
    sent = pass_.calls.sent + np.arange(calls) // admitted * (life + 1)
    return dataclasses.replace(pass_, calls=dataclasses.replace(pass_.calls, sent=sent, end=sent + life))


def test_a_flat_top_below_the_target_is_a_cap():
    pass_ = pooled(30, 10)
    assert FlagName.CAPPED in raised(facts(pass_.schedule, timed=pass_))
    wide = facts(pass_.schedule, timed=pass_, width=10)
    assert FlagName.CAPPED not in raised(wide), "a pool's own width is no cap"
    assert FlagName.BOUNDED in raised(wide)


@pytest.mark.parametrize("client", [name for name, info in CLIENTS.items() if info.pool])
def test_b3_every_librarys_default_pool_is_a_cap(client: str):
    """The SDKs' too, which take more calls than a small real run has."""
    pool = CLIENTS[client].pool
    pass_ = pooled(pool + pool // 2, pool)
    made = facts(pass_.schedule, timed=pass_)
    (flag,) = [each for each in flags(made, Calls(made)) if each.name is FlagName.CAPPED]
    assert flag.evidence == {"peak_in_flight": pool, "target": pool + pool // 2}
    enough = pooled(pool, pool)
    assert FlagName.CAPPED not in raised(facts(enough.schedule, timed=enough))


def waves(calls: int, width: int, sent: int) -> TimedPass:
    """A pass whose calls go `width` at a time, stopped when the first `sent` had been sent."""
    plan = schedule(calls, arrival="burst", ramp_s=0.0, tokens=40.0)
    pass_ = timed(plan)
    life = int((pass_.calls.end - pass_.calls.sent).max())
    at = pass_.calls.sent + np.arange(calls) // width * (life + 1)
    begun, over_ns = np.arange(calls) < sent, int(at[sent - 1]) + life // 2
    ended = begun & (at + life <= over_ns)
    stamps = dataclasses.replace(
        pass_.calls,
        begin=np.where(begun, pass_.calls.begin, 0),
        sent=np.where(begun, at, 0),
        end=np.where(ended, at + life, 0),
        outcome=np.where(ended, pass_.calls.outcome, 0),
    )
    return dataclasses.replace(pass_, calls=stamps, over_ns=over_ns)


def test_a_cap_shows_in_a_cell_that_was_stopped_too():
    pass_ = waves(80, 10, 60)
    made = facts(pass_.schedule, timed=pass_, drained=False)
    assert Calls(made).peak_in_flight == 10
    assert FlagName.CAPPED in raised(made)


def test_calls_that_starve_until_the_cell_is_stopped_are_no_cap():
    pass_ = waves(80, 80, 40)
    made = facts(pass_.schedule, timed=pass_, drained=False)
    assert Calls(made).peak_in_flight == 40
    assert FlagName.CAPPED not in raised(made)


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


@pytest.mark.parametrize(
    ("gap_ms", "grain_ms", "below"), [(0.9, 1.0, True), (1.1, 1.0, False), (0.9, 0.05, False)]
)
def test_tokens_nearer_than_the_grain_of_their_timers(gap_ms: float, grain_ms: float, below: bool):
    plan = schedule(gap_ms=gap_ms, tokens=3000.0)
    made = facts(plan, timed=timed(plan), grain_ms=grain_ms)
    assert raised(made) == ({FlagName.BELOW_TIMER_GRAIN} if below else set())


def test_tokens_that_are_due_at_once_are_paced_by_no_timer():
    plan = build(resolve("flood", 20, {}), 20)
    assert FlagName.BELOW_TIMER_GRAIN not in raised(facts(plan, timed=timed(plan)))


@pytest.mark.parametrize(
    ("client_ms", "grain_ms", "below"),
    [(-0.23, 1.0, True), (1.3, 1.0, True), (2.1, 1.0, False), (0.3, 0.05, False), (0.08, 0.05, True)],
)
def test_lateness_that_is_nothing_but_rounding(client_ms: float, grain_ms: float, below: bool):
    plan = schedule()
    made = facts(plan, timed=timed(plan, with_provider=False, client_ms=client_ms), grain_ms=grain_ms)
    found = flags(made, Calls(made))
    assert {flag.name for flag in found} == ({FlagName.BELOW_TIMER_GRAIN} if below else set())
    if below:
        assert found[0].evidence["early_share"] == (1.0 if client_ms < 0 else 0.0)


def test_a_network_clients_lateness_is_no_timers():
    plan = schedule()
    assert raised(facts(plan, timed=timed(plan, client_ms=0.01), grain_ms=1.0)) == set()


def received_at(pass_: TimedPass, received: Ns) -> TimedPass:
    """The pass with tokens received later than they were; calls end with their last one."""
    end = received[pass_.schedule.first[1:] - 1] + 1000
    calls = dataclasses.replace(pass_.calls, received=received, end=end)
    return dataclasses.replace(pass_, calls=calls)


def in_batches(pass_: TimedPass, size: int) -> TimedPass:
    """Something hands on each call's tokens when it has so many of them."""
    first = np.repeat(pass_.schedule.first[:-1], np.diff(pass_.schedule.first))
    stop = np.repeat(pass_.schedule.first[1:], np.diff(pass_.schedule.first))
    row = np.arange(len(first))
    last = np.minimum(first + ((row - first) // size + 1) * size, stop) - 1
    return received_at(pass_, pass_.calls.received[last])


@pytest.mark.parametrize(("size", "buffered"), [(1, False), (2, True), (4, True)])
def test_tokens_sent_apart_that_come_together_were_buffered(size: int, buffered: bool):
    made = facts(timed=in_batches(timed(schedule()), size))
    found = flags(made, Calls(made))
    assert {flag.name for flag in found} == ({FlagName.BUFFERED_PATH} if buffered else set())
    if buffered:
        assert found[0].evidence["together_share"] == pytest.approx(1 - 1 / size, abs=0.1)


def test_a_reader_that_was_away_buffers_nothing():
    """Every 200 ms it comes back and reads all calls, one after the other."""
    pass_ = timed(schedule())
    away_ns = 200_000_000
    back_ns = -(-pass_.calls.received // away_ns) * away_ns
    turn_ns = np.repeat(np.arange(20), np.diff(pass_.schedule.first)) * 100_000
    made = facts(timed=received_at(pass_, back_ns + turn_ns))
    assert Calls(made).inter_chunk_ms.min() < 5, "tokens came together"
    assert FlagName.BUFFERED_PATH not in raised(made)


@pytest.mark.parametrize(
    "held_up",
    [
        {"host": quiet_hosts(busy_ns=2 * 10**9)},
        {"host": (host(throttled_periods=1), host(throttled_periods=4))},
    ],
)
def test_a_reader_that_was_held_up_is_not_the_path(held_up: dict[str, object]):
    made = facts(timed=in_batches(timed(schedule(), **held_up), 4))
    assert FlagName.BUFFERED_PATH not in raised(made)


def test_a_reader_without_time_is_not_the_path():
    pass_ = in_batches(timed(schedule(), cell_cores=0.95), 4)
    assert raised(facts(timed=pass_)) == {FlagName.CLIENT_LIMITED}


def test_tokens_sent_together_may_come_together():
    pass_ = in_batches(timed(schedule()), 4)
    sent = pass_.calls.received - 250_000
    made = facts(timed=dataclasses.replace(pass_, provider=dataclasses.replace(pass_.provider, sent=sent)))
    assert FlagName.BUFFERED_PATH not in raised(made)


def test_calls_that_are_over_before_the_next_begins_are_no_cap():
    plan = build(resolve("flood", 20, {}), 20)
    pass_ = timed(plan)
    late = np.arange(20) // 10 * (int((pass_.calls.end - pass_.calls.sent).max()) + 1)
    calls = dataclasses.replace(pass_.calls, sent=pass_.calls.sent + late, end=pass_.calls.end + late)
    made = facts(plan, timed=dataclasses.replace(pass_, calls=calls))
    assert Calls(made).peak_in_flight == 10
    assert FlagName.CAPPED not in raised(made)
