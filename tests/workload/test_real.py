"""Workloads after real traffic: what they take from the traces, and what they promise."""

import numpy as np
import pytest

from shared_traces import shared
from streamlanes.errors import UserError
from streamlanes.workload import Schedule, azure_2023, build, fitting, resolve
from streamlanes.workload.draws import SHARES, Dist
from streamlanes.workload.gaps import LEVELS, decode, level_of
from streamlanes.workload.real import CHAT_TOKENS, CODE_TOKENS
from streamlanes.workload.trace import Trace


def schedule(name: str, calls: int, **axes: object) -> Schedule:
    return build(resolve(name, calls, axes), calls)


def recorded(gap_s: float = 0.1, calls: int = 50, tokens: int = 5) -> Trace:
    at_ns = np.arange(calls) * round(gap_s * 1e9)
    return Trace(name="made@0", at_ns=at_ns, tokens=np.full(calls, tokens))


def cv(values: np.ndarray) -> float:
    return float(values.std() / values.mean())


# The tables


def test_the_tables_are_made_from_the_traces():
    conv, code = shared("azure-2023-conv.csv"), shared("azure-2023-code.csv")
    assert list(azure_2023.CHAT_TOKENS) == fitting.token_quantiles(conv)
    assert list(azure_2023.CODE_TOKENS) == fitting.token_quantiles(code)
    assert list(azure_2023.CODE_GAP_BLOCKS) == fitting.gap_blocks(code)
    for mean_s, spread, trace in (
        (azure_2023.CHAT_MEAN_GAP_S, azure_2023.CHAT_GAP_CV, conv),
        (azure_2023.CODE_MEAN_GAP_S, azure_2023.CODE_GAP_CV, code),
    ):
        gaps = fitting.gaps_s(trace)
        assert mean_s == pytest.approx(gaps.mean(), abs=1e-5)
        assert spread == pytest.approx(cv(gaps), abs=1e-3)


def test_the_tables_file_is_what_the_script_writes():
    conv, code = shared("azure-2023-conv.csv"), shared("azure-2023-code.csv")
    with open(str(azure_2023.__file__), encoding="utf-8") as file:
        assert file.read() == fitting.module(conv, code)


@pytest.mark.parametrize(
    ("tokens", "name"), [(CHAT_TOKENS, "azure-2023-conv.csv"), (CODE_TOKENS, "azure-2023-code.csv")]
)
def test_drawn_tokens_are_distributed_like_the_trace(tokens, name: str):
    trace = shared(name)
    drawn = tokens.draw(np.random.default_rng(1), 50_000)
    for share in (0.25, 0.5, 0.9, 0.99):
        assert np.quantile(drawn, share) == pytest.approx(np.quantile(trace.tokens, share), rel=0.05, abs=1)
    assert drawn.mean() == pytest.approx(trace.tokens.mean(), rel=0.03)


def test_tables_are_whole_and_ascend():
    assert list(SHARES) == sorted(set(SHARES))
    assert (SHARES[0], SHARES[-1]) == (0.0, 1.0)
    for tokens in (CHAT_TOKENS, CODE_TOKENS):
        assert len(tokens.values) == len(SHARES)
        assert list(tokens.values) == sorted(tokens.values)
    assert CHAT_TOKENS.shown == {"of": "azure-2023-conversation", "median": 129, "p99": 601}
    assert CHAT_TOKENS.mean == pytest.approx(211, abs=1)
    assert CODE_TOKENS.mean == pytest.approx(28, abs=0.5)


def test_letters_stand_for_gaps_within_an_eighth():
    for gap in np.geomspace(0.001, 600, 200):
        block = (LEVELS[level_of(gap)] + LEVELS[level_of(1.0)],)
        told = decode(block)[0]
        assert told[0] / told[1] == pytest.approx(gap / (0.001 * 1.25**31), rel=0.13)
    assert level_of(0.0) == level_of(1e-9) == 0
    assert level_of(1e9) == len(LEVELS) - 1


def test_blocks_keep_the_spread_of_the_trace():
    gaps = decode(azure_2023.CODE_GAP_BLOCKS)
    assert gaps.shape == (44, fitting.BLOCK_GAPS)
    assert gaps.mean() == pytest.approx(1)
    assert cv(gaps) == pytest.approx(13, abs=0.5)


# What they promise


def test_chat_comes_almost_like_poisson():
    gaps = np.diff(schedule("chat", 8000).start_ns)
    assert gaps.min() >= 0
    assert cv(gaps) == pytest.approx(1.09, abs=0.05)


def test_code_comes_in_bursts_and_ends_on_time():
    spreads, peaks = [], []
    for seed in range(12):
        made = schedule("code", 2000, seed=seed, ramp_s=20.0)
        assert made.start_ns[0] == 0
        assert made.start_ns[-1] == pytest.approx(20e9)
        assert (np.diff(made.start_ns) >= 0).all()
        spreads.append(cv(np.diff(made.start_ns)))
        peaks.append(made.peak_in_flight)
    smooth = schedule("code", 2000, arrival="poisson", ramp_s=20.0)
    assert np.median(spreads) > 8
    assert min(peaks) > 1.3 * smooth.peak_in_flight


@pytest.mark.parametrize("calls", [1, 2, 7])
@pytest.mark.parametrize("name", ["chat", "code", "peak10"])
def test_few_calls_are_a_load_too(name: str, calls: int):
    made = schedule(name, calls)
    assert made.calls == calls
    assert made.peak_in_flight >= 1
    assert made.rate_per_s > 0


def test_peak10_is_ten_times_as_fast_for_thirty_seconds():
    load = resolve("peak10", 12_000, {"time_scale": 2})
    assert load.ramp_s == 45.0, "three times 30 s, twice as fast"
    starts = build(load, 12_000).start_ns / 1e9
    before, peak, after = np.histogram(starts, bins=[0, 15, 30, 45])[0]
    assert before == pytest.approx(1000, rel=0.15)
    assert after == pytest.approx(1000, rel=0.15)
    assert peak == pytest.approx(10_000, rel=0.05)
    assert (np.diff(starts) >= 0).all()


@pytest.mark.parametrize("calls", [10, 100, 500, 2000, 10_000])
@pytest.mark.parametrize("name", ["chat", "code"])
def test_by_itself_no_workload_is_slower_than_real_or_asks_for_more_than_steady(name: str, calls: int):
    load = resolve(name, calls, {})
    assert load.time_scale >= 1
    assert calls * load.tokens.mean / load.ramp_s <= 20_000.001
    assert load.ramp_s <= max(20.0, calls * load.tokens.mean / 20_000)


def test_the_peak_of_peak10_asks_for_no_more_than_steady():
    for calls in (100, 2000, 10_000):
        load = resolve("peak10", calls, {})
        in_peak = 10 / 12 * calls / (load.ramp_s / 3)
        assert in_peak * load.tokens.mean <= 20_000.001


def test_three_axes_say_the_same_thing():
    scaled = resolve("chat", 1000, {"time_scale": 10})
    assert scaled.ramp_s == pytest.approx(1000 * azure_2023.CHAT_MEAN_GAP_S / 10)
    assert resolve("chat", 1000, {"ramp_s": scaled.ramp_s}).time_scale == pytest.approx(10)
    rated = resolve("chat", 1000, {"rate_per_s": 1000 * CHAT_TOKENS.mean / scaled.ramp_s})
    assert rated.time_scale == pytest.approx(10)
    assert schedule("chat", 4000, rate_per_s=9000).rate_per_s == pytest.approx(9000, rel=0.1)


def test_the_scale_moves_arrivals_and_nothing_else():
    slow, fast = (schedule("chat", 300, time_scale=scale) for scale in (2, 8))
    assert (slow.offset_ns == fast.offset_ns).all()
    assert slow.start_ns / fast.start_ns == pytest.approx(4, rel=1e-3)
    assert fast.peak_in_flight > 2 * slow.peak_in_flight


def test_tokens_that_are_set_take_the_tables_place():
    load = resolve("chat", 2000, {"tokens": Dist(10.0)})
    assert (np.diff(build(load, 2000).first) == 10).all()
    assert load.ramp_s == 20.0, "a lighter load need not be stretched"


# A trace


def test_a_trace_is_replayed_in_real_time_unless_told():
    trace = recorded(gap_s=0.1)
    load = resolve("trace", 50, {"trace": trace})
    assert (load.time_scale, load.ramp_s, load.trace) == (1.0, 4.9, "made@0")
    made = build(load, 50)
    assert (made.start_ns == trace.at_ns).all()
    assert (np.diff(made.first) == 5).all()
    assert load.tokens.shown == {"of": "made@0", "median": 5.0, "p99": 5.0}


def test_a_trace_is_compressed():
    made = schedule("trace", 20, trace=recorded(gap_s=0.1), time_scale=10)
    assert np.diff(made.start_ns) == pytest.approx(1e7)
    whole = resolve("trace", 20, {"trace": recorded(gap_s=0.1), "ramp_s": 0.19})
    assert whole.time_scale == pytest.approx(10)


def test_compression_is_what_puts_calls_in_flight_together():
    peaks = [
        schedule("trace", 50, trace=recorded(), time_scale=scale).peak_in_flight for scale in (1, 10, 1000)
    ]
    assert peaks[0] < peaks[1] < peaks[2] == 50


def test_a_trace_of_one_request_takes_no_time():
    load = resolve("trace", 1, {"trace": recorded(), "time_scale": 5})
    assert (load.ramp_s, load.time_scale) == (0.0, 5)
    assert build(load, 1).calls == 1


def test_a_burst_has_no_scale():
    assert resolve("trace", 5, {"trace": recorded(), "arrival": "burst"}).time_scale is None


def test_ten_minutes_of_conversations_as_a_schedule():
    conv = shared("azure-2023-conv.csv")
    calls = int((conv.at_ns < 600e9).sum())
    made = schedule("trace", calls, trace=conv)
    assert calls > 2000
    assert (made.start_ns == conv.at_ns[:calls]).all(), "to the nanosecond"
    assert (np.diff(made.first) == conv.tokens[:calls]).all()
    assert 600 <= made.ideal_wall_s < 625
    mean = float(made.life_ns.sum()) / 1e9 / made.ideal_wall_s
    assert mean < made.peak_in_flight < calls / 20
    fast = schedule("trace", calls, trace=conv, time_scale=10)
    assert fast.peak_in_flight > 5 * made.peak_in_flight
    assert fast.ideal_wall_s < 85


@pytest.mark.parametrize(
    ("name", "axes", "words"),
    [
        ("trace", {}, ["--set trace=PATH"]),
        ("trace", {"trace": recorded(calls=3)}, ["3 requests", "-n 3"]),
        ("chat", {"time_scale": 2, "ramp_s": 4}, ["time_scale and ramp_s"]),
        ("code", {"rate_per_s": 2, "ramp_s": 4}, ["ramp_s and rate_per_s"]),
        ("steady", {"time_scale": 2}, ["time_scale", "chat"]),
        ("steady", {"rate_per_s": 100, "gap_ms": 10}, ["gap_ms and rate_per_s"]),
        ("lesson", {"rate_per_s": 100, "gap_ms": 10}, ["gap_ms and rate_per_s"]),
        ("chat", {"trace": recorded()}, ["trace", "-w"]),
        ("chat", {"time_scale": 0}, ["above 0"]),
        ("chat", {"time_scale": -2}, ["ramp_s is -"]),
        ("chat", {"time_scale": "fast"}, ["time_scale", "number"]),
        ("chat", {"rate_per_s": 0}, ["above 0"]),
        ("chat", {"arrival": "code"}, ["code", "poisson"]),
        ("trace", {"trace": recorded(calls=5), "seed": -1}, ["seed"]),
    ],
)
def test_what_cannot_be_meant_is_one_clear_line(name: str, axes: dict[str, object], words: list[str]):
    with pytest.raises(UserError) as error:
        resolve(name, 5, axes)
    for word in words:
        assert word in str(error.value)
    assert "\n" not in str(error.value)
