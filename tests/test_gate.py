"""Thresholds are data; what breaks them is named."""

from pathlib import Path
from typing import Any

import pytest

from records import record
from streamlanes.errors import UserError
from streamlanes.gate import VerdictName, judge
from streamlanes.record import FlagName, StatusName
from streamlanes.rules import Bound, Ratio, Thresholds, parse

SHIPPED = Path(__file__).parent.parent / "bench" / "thresholds.toml"


def shipped() -> Thresholds:
    return parse(SHIPPED.read_text(encoding="utf-8"), "bench/thresholds.toml")


def rules(text: str) -> Thresholds:
    return parse(text, "t.toml")


def rule(**settings: Any) -> Thresholds:
    given = {"metric": "counts.lost_tokens", "equals": 0, "reason": "why", **settings}
    lines = [f"{key} = {_toml(value)}" for key, value in given.items()]
    return rules("\n".join(["[[exact]]", *lines]))


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')


def test_a_whole_run_passes_the_shipped_thresholds() -> None:
    verdict = judge([record("asyncio"), record("uvloop", flags=[FlagName.CLIENT_LIMITED])], shipped())
    assert (verdict.name, verdict.judged, verdict.exit_code) == (VerdictName.PASS, 2, 0)
    assert [rule for rule in verdict.idle if rule.startswith("counts.")] == []


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("counts.lost_tokens", 1),
        ("counts.extra_tokens", 2),
        ("counts.unaccounted_calls", 1),
        ("counts.started", 1999),
        ("counts.ok", 1999),
        ("counts.peak_in_flight", 1990),
    ],
)
def test_each_shipped_rule_breaks_on_its_own(metric: str, value: int) -> None:
    bad = record("processes+uvloop", figures={metric: value})
    verdict = judge([record("asyncio"), bad], shipped())
    assert (verdict.name, verdict.exit_code) == (VerdictName.BROKEN, 1)
    [breach] = verdict.broken
    assert (breach.cell, breach.metric) == (bad.cell.id, metric)
    text = str(breach)
    assert bad.cell.id in text
    assert f"{metric} is {value:,}" in text
    assert "\n" not in text


def test_shipped_rules_all_say_why() -> None:
    everything = [*shipped().exact, *shipped().bound, *shipped().ratio]
    assert len(everything) == 28
    assert all(len(one.reason) > 20 for one in everything)


def test_shipped_rules_on_what_noise_moves_take_a_clean_median_of_three() -> None:
    """Only bytes, what kills leave behind, and lane durable, whose cells run once, may be judged by less."""
    rules = shipped()
    moved = [one for one in rules.bound if not one.metric.startswith(("memory.", "chaos.", "durable."))]
    judged: list[Bound | Ratio] = [*moved, *(one for one in rules.ratio if one.lane != "durable")]
    assert {"time.efficiency", "time.cpu_us_per_token"} <= {one.metric for one in judged}
    assert [str(one) for one in judged if one.repetitions < 3] == []
    assert [str(one) for one in moved if one.doubted] == []


def test_a_figure_may_have_to_equal_another() -> None:
    bounded = record(figures={"counts.peak_in_flight": 63, "counts.in_flight_target": 64})
    [breach] = judge([bounded], rule(metric="counts.peak_in_flight", equals="counts.in_flight_target")).broken
    assert str(breach).endswith("counts.peak_in_flight is 63, wanted 64 (counts.in_flight_target); why")


def test_a_null_breaks_with_its_reason_unless_it_is_allowed() -> None:
    unread = record(missing={"counts.lost_tokens": "mapping unreadable"})
    [breach] = judge([unread], rule()).broken
    assert "null (mapping unreadable)" in str(breach)
    assert judge([unread], rule(null_ok=True)).name is VerdictName.PASS


def test_a_null_on_the_other_side_breaks_too() -> None:
    unread = record(missing={"counts.in_flight_target": "no schedule"})
    same = {"metric": "counts.peak_in_flight", "equals": "counts.in_flight_target"}
    assert judge([unread], rule(**same)).name is VerdictName.BROKEN
    assert judge([unread], rule(**same, null_ok=True)).name is VerdictName.PASS


@pytest.mark.parametrize("status", [StatusName.OVER_BUDGET, StatusName.UNSUPPORTED, StatusName.SKIPPED])
def test_stopped_cells_are_not_judged(status: StatusName) -> None:
    stopped = record(status=status, figures={"counts.lost_tokens": 7})
    verdict = judge([stopped], rule())
    assert (verdict.name, verdict.judged, verdict.exit_code) == (VerdictName.INCONCLUSIVE, 0, 3)
    assert judge([stopped, record("uvloop")], rule()).name is VerdictName.PASS


def test_a_rule_can_ask_for_stopped_cells() -> None:
    stopped = record(status=StatusName.OVER_BUDGET, figures={"counts.extra_tokens": 7})
    wanted = rule(metric="counts.extra_tokens", status="over_budget")
    assert judge([stopped], wanted).name is VerdictName.BROKEN


def test_a_crash_breaks_the_gate_without_a_rule() -> None:
    crashed = record(status=StatusName.CRASHED, reason="signal 11\nsecond line")
    verdict = judge([crashed, record("uvloop")], rules(""))
    assert verdict.name is VerdictName.BROKEN
    assert "signal 11 second line" in str(verdict.broken[0])


def test_no_record_is_inconclusive() -> None:
    verdict = judge([], shipped())
    assert (verdict.name, verdict.exit_code) == (VerdictName.INCONCLUSIVE, 3)
    assert len(verdict.idle) == 28


def test_a_rule_for_lanes_that_were_not_run_is_not_idle() -> None:
    both = '[[exact]]\nmetric = "durable.lost"\nequals = 0\nreason = "r"\nlane = "durable"\n'
    assert judge([record("asyncio")], rules(both)).idle == ()
    mine = both.replace('lane = "durable"', 'lane = ["io", "durable"]\nclient = "floor"')
    assert judge([record("asyncio")], rules(mine)).idle == ("durable.lost = 0",)


@pytest.mark.parametrize(
    ("filters", "broken"),
    [
        ({"backend": "threads"}, 1),
        ({"backend": ["threads", "uvloop"]}, 2),
        ({"backend": "asyncio"}, 0),
        ({"calls": 500}, 0),
        ({"calls": [500, 2000]}, 2),
        ({"client": "floor"}, 0),
        ({"workload": "steady"}, 2),
        ({"lane": "cpu"}, 0),
        ({"lane": "io", "backend": "uvloop", "calls": 2000}, 1),
    ],
)
def test_filters_choose_the_records(filters: dict[str, Any], broken: int) -> None:
    lost = {"counts.lost_tokens": 1}
    records = [record("threads", figures=lost), record("uvloop", figures=lost), record("asyncio")]
    assert len(judge(records, rule(**filters)).broken) == broken


def test_a_rule_that_judges_nothing_is_said() -> None:
    verdict = judge([record()], rule(backend="asynico"))
    assert verdict.idle == ("counts.lost_tokens = 0",)
    assert any("no record comes under this rule" in line for line in verdict.lines())


def test_a_path_of_another_lane_is_not_asked_for_here() -> None:
    cpu = record(lane="cpu", figures={"counts": {"documents": 5}})
    verdict = judge([cpu, record()], rule())
    assert (verdict.name, verdict.judged) == (VerdictName.PASS, 1)


def test_a_record_that_lacks_its_lanes_figure_breaks() -> None:
    without = record("uvloop", figures={"counts": {"calls": 5}})
    assert judge([record(), without], rule()).name is VerdictName.BROKEN


def test_lines_end_with_the_sum() -> None:
    verdict = judge([record(figures={"counts.lost_tokens": 1})], rule())
    first, last = verdict.lines()
    assert first.startswith("BROKEN  io/asyncio")
    assert last == "GATE    broken: 1 records judged, 1 breaches"


@pytest.mark.parametrize("path", ["counts.lost_token", "counts.peek_in_flight"])
def test_an_unknown_metric_is_refused_with_the_nearest(path: str) -> None:
    with pytest.raises(UserError, match="did you mean 'counts"):
        judge([record()], rule(metric=path))
    with pytest.raises(UserError, match="did you mean 'counts"):
        judge([record()], rule(equals=path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[[exact]]\nmetrc = "a.b"',
            "t.toml: .*exact.* number 1: unknown key 'metrc'; did you mean 'metric'",
        ),
        ("[[exat]]", "t.toml: unknown key 'exat'; did you mean 'exact'"),
        ('[[exact]]\nmetric = "a.b"\nequals = 0', "reason"),
        ('[[exact]]\nmetric = "a.b"\nequals = true\nreason = "r"', "equals"),
        ('[[exact]]\nmetric = "a.b"\nequals = 0\nreason = "r"\nstatus = "fine"', "fine"),
        ("exact = 3", "t.toml"),
        ("[[exact]", "not valid TOML"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as raised:
        rules(text)
    assert "\n" not in str(raised.value)
    assert raised.value.exit_code == 2


CPU = "time.cpu_us_per_token"


def bound(**settings: Any) -> Thresholds:
    given = {"metric": CPU, "reason": "why", "at_most": 20.0, **settings}
    return rules("\n".join(["[[bound]]", *(f"{key} = {_toml(value)}" for key, value in given.items())]))


def ratio(**settings: Any) -> Thresholds:
    given = {
        "metric": CPU,
        "reason": "why",
        "backend": "uvloop",
        "against": "asyncio",
        "at_most": 0.9,
        **settings,
    }
    return rules("\n".join(["[[ratio]]", *(f"{key} = {_toml(value)}" for key, value in given.items())]))


def three(backend: str, *values: float, flags: Any = ()) -> list[Any]:
    return [record(backend, 2000, r, figures={CPU: v}, flags=flags) for r, v in enumerate(values, 1)]


def test_a_bound_is_held_against_the_median_of_clean_repetitions() -> None:
    assert judge(three("asyncio", 19, 99, 18), bound()).name is VerdictName.PASS
    [breach] = judge(three("asyncio", 21, 22, 3), bound()).broken
    assert str(breach) == f"io/asyncio/streams/steady/2000: {CPU} is 21, wanted <= 20; why"
    assert judge(three("asyncio", 19, 19, 19), bound(at_least=19.5)).name is VerdictName.BROKEN


def test_too_few_clean_repetitions_are_inconclusive_and_said() -> None:
    verdict = judge(three("asyncio", 99, 99), bound())
    assert (verdict.name, verdict.exit_code) == (VerdictName.INCONCLUSIVE, 3)
    assert "2 of 3 clean repetitions" in verdict.open[0]
    noisy = three("asyncio", 99, 99, 99, flags=[FlagName.NOISY_HOST])
    assert judge(noisy, bound()).exit_code == 3
    assert judge(noisy, bound(doubted=True)).exit_code == 1
    assert judge(three("asyncio", 5), bound(repetitions=1)).exit_code == 0


def test_what_is_broken_outweighs_what_is_open() -> None:
    lost = record("threads", figures={"counts.lost_tokens": 1})
    both = rules(
        '[[exact]]\nmetric = "counts.lost_tokens"\nequals = 0\nreason = "why"\n'
        f'[[bound]]\nmetric = "{CPU}"\nat_most = 1\nreason = "why"\nbackend = "asyncio"\n'
    )
    assert judge([lost, *three("asyncio", 5)], both).exit_code == 1


def test_a_ratio_is_paired_by_repetition() -> None:
    records = [*three("uvloop", 8, 16, 32), *three("asyncio", 10, 20, 40)]
    assert judge(records, ratio()).name is VerdictName.PASS
    [breach] = judge(records, ratio(at_most=0.75)).broken
    assert "over that of asyncio is 0.800, wanted <= 0.75" in str(breach)
    assert judge(records, ratio(at_least=0.85, at_most=2.0)).name is VerdictName.BROKEN


def test_a_ratio_without_its_other_side_is_inconclusive() -> None:
    assert "0 of 3 clean pairs" in judge(three("uvloop", 8, 8, 8), ratio()).open[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[bound]]\nmetric = "a.b"\nreason = "r"', "at_most or at_least"),
        ('[[bound]]\nmetric = "a.b"\nreason = "r"\nat_most = 1\nrepetitions = 0', "repetitions"),
        ('[[ratio]]\nmetric = "a.b"\nreason = "r"\nat_most = 1', "against"),
        ('[[bound]]\nmetric = "a.b"\nreason = "r"\nat_mst = 1', "at_most"),
    ],
)
def test_a_bad_bound_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        rules(text)


def test_steps_of_a_knee_search_come_under_no_rule_but_may_not_crash() -> None:
    lost = {"counts.lost_tokens": 5, "counts.peak_in_flight": 3}
    sought = {"axes": {"rate_per_s": 80_000}, "knee_bound_ms": 50.0}
    verdict = judge([record("asyncio"), record("asyncio", figures=lost, **sought)], shipped())
    assert (verdict.name, verdict.judged) == (VerdictName.PASS, 1)
    crashed = record("asyncio", status=StatusName.CRASHED, reason="signal 9", **sought)
    assert judge([record("asyncio"), crashed], shipped()).name is VerdictName.BROKEN
