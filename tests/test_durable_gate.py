"""What the shipped thresholds hold keeping steps to, and rules about axes."""

from pathlib import Path
from typing import Any

import pytest

from records import record
from streamlanes.errors import UserError
from streamlanes.gate import VerdictName, judge
from streamlanes.record import FlagName, Record
from streamlanes.rules import Thresholds, parse

SHIPPED = Path(__file__).parent.parent / "bench" / "thresholds.toml"

USUAL = {
    "architecture": "checkpoints",
    "group_commit": True,
    "sync_ms": 0,
    "run_s": 12.0,
    "state_bytes": 1024,
}
SQLITE = {
    "work.per_s": 15_000.0,
    "durable.ack_ms.p99": 13.4,
    "durable.steps_per_commit": 79.0,
    "durable.written_per_useful": 8.2,
    "durable.growth": 0.7,
}
POSTGRES = {**SQLITE, "work.per_s": 10_300.0, "durable.ack_ms.p99": 26.4, "durable.written_per_useful": 1.3}
ALONE = {
    "work.per_s": 2_800.0,
    "durable.ack_ms.p99": 48.7,
    "durable.steps_per_commit": 1.0,
    "durable.written_per_useful": 13.5,
    "durable.growth": 1.2,
}


def shipped() -> Thresholds:
    return parse(SHIPPED.read_text(encoding="utf-8"), "bench/thresholds.toml")


def kept(store: str, figures: dict[str, float], backend: str = "asyncio", **axes: Any) -> Record:
    return record(
        backend,
        calls=100,
        lane="durable",
        client="none",
        workload="documents",
        axes={**USUAL, "store": store, **axes},
        figures={"durable.lost": 0, "durable.duplicated": 0, **figures},
        flags=[FlagName.NOISY_HOST],
    )


def profile(**changed: dict[str, float]) -> list[Record]:
    """The cells of profile durable that come under the rules, as they were measured; noisy, all of them."""
    cells = {
        "shared": ("sqlite-full", SQLITE, {}),
        "normal": ("sqlite-normal", SQLITE, {}),
        "postgres": ("postgres", POSTGRES, {}),
        "alone": ("sqlite-full", ALONE, {"group_commit": False}),
        "slow_shared": ("sqlite-full", {**SQLITE, "work.per_s": 9_800.0}, {"sync_ms": 2}),
        "slow_alone": ("sqlite-full", {**ALONE, "work.per_s": 370.0}, {"sync_ms": 2, "group_commit": False}),
    }
    return [
        kept(store, {**figures, **changed.get(name, {})}, **axes)
        for name, (store, figures, axes) in cells.items()
    ]


def test_what_was_measured_passes():
    verdict = judge(profile(), shipped())
    assert (verdict.name, verdict.judged, verdict.open) == (VerdictName.PASS, 6, ())
    assert not [rule for rule in verdict.idle if "durable" in rule or "work" in rule]


@pytest.mark.parametrize(
    ("cell", "metric", "value", "says"),
    [
        ("shared", "durable.ack_ms.p99", 49.0, "durable.ack_ms.p99 is 49, wanted <= 40"),
        ("postgres", "durable.ack_ms.p99", 137.0, "durable.ack_ms.p99 is 137, wanted <= 90"),
        ("shared", "durable.steps_per_commit", 1.0, "durable.steps_per_commit is 1.0, wanted >= 20"),
        ("slow_shared", "durable.steps_per_commit", 1.0, "durable.steps_per_commit is 1.0, wanted >= 20"),
        ("normal", "durable.written_per_useful", 13.5, "durable.written_per_useful is 14, wanted <= 11"),
        ("postgres", "durable.written_per_useful", 2.6, "durable.written_per_useful is 2.6, wanted <= 2.5"),
        ("postgres", "durable.growth", 3.0, "durable.growth is 3.0, wanted <= 2.5"),
        (
            "shared", "work.per_s", 5_000.0,
            "work.per_s over that of group_commit=false is 1.786, wanted >= 2",
        ),
        (
            "slow_alone", "work.per_s", 2_000.0,
            "work.per_s over that of group_commit=false is 4.900, wanted >= 8",
        ),
    ],
)  # fmt: skip
def test_each_rule_breaks_by_name(cell: str, metric: str, value: float, says: str):
    verdict = judge(profile(**{cell: {metric: value}}), shipped())
    assert verdict.name is VerdictName.BROKEN
    [breach] = verdict.broken
    assert says in str(breach)


def test_a_run_that_sweeps_no_group_commit_is_not_asked_what_it_is_worth():
    verdict = judge([kept("sqlite-full", SQLITE)], shipped())
    assert (verdict.name, verdict.open) == (VerdictName.PASS, ())
    assert [rule for rule in verdict.idle if "group_commit=false" in rule]


def test_short_runs_and_other_architectures_are_not_judged_by_them():
    short = kept("sqlite-full", ALONE, run_s=1)
    queue = kept("sqlite-full", ALONE, architecture="queue")
    assert judge([short, queue], shipped()).name is VerdictName.PASS


def test_an_axis_that_does_not_exist_is_refused():
    rule = '[[bound]]\nmetric = "work.per_s"\nat_least = 1\nreason = "why"\naxes = { stor = "sqlite-full" }'
    with pytest.raises(UserError, match="did you mean 'store'"):
        parse(rule, "t.toml")
    ratio = '[[ratio]]\nmetric = "work.per_s"\nat_least = 1\nreason = "why"\nagainst = { group = true }'
    with pytest.raises(UserError, match="unknown key 'group'"):
        parse(ratio, "t.toml")


def test_repetitions_of_two_axes_are_paired():
    rules = parse(
        '[[ratio]]\nmetric = "work.per_s"\naxes = { group_commit = true }\n'
        "against = { group_commit = false }\n"
        'at_least = 2\nrepetitions = 1\nreason = "why"',
        "t.toml",
    )
    noisy = judge([kept("sqlite-full", SQLITE), kept("sqlite-full", ALONE, group_commit=False)], rules)
    assert "0 of 1 clean pairs" in noisy.open[0], "flagged ones count only where the rule says so"
    other = judge([kept("sqlite-full", SQLITE), kept("sqlite-normal", ALONE, group_commit=False)], rules)
    assert (other.open, other.idle) == ((), ("work.per_s over group_commit=false >= 2",))
