"""The published results keep the shipped thresholds; with one fault planted they break them by name."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from streamlanes import cli
from streamlanes.record import Record, encode
from streamlanes.report.load import load_run
from streamlanes.rules import Bound, Exact, Ratio, Rule, Thresholds, parse

ROOT = Path(__file__).parent.parent
THRESHOLDS = ROOT / "bench" / "thresholds.toml"
PROFILES = ("quick", "full")
"""The built-in profiles that the shipped thresholds are for."""

Plant = Callable[[dict[str, Any]], None]


def shipped() -> Thresholds:
    return parse(THRESHOLDS.read_text(encoding="utf-8"), "bench/thresholds.toml")


def folders() -> list[Path]:
    found = sorted((ROOT / "results" / "published").glob("*/*/records.jsonl"))
    return [path.parent for path in found if path.parent.name in PROFILES]


def cell(record: Record) -> str:
    """A cell's id without its repetition."""
    return record.cell.id.rpartition("/")[0]


def under(rule: Rule, folder: Path) -> list[Record]:
    """The records that the rule judges: those that it lets through and that have its figure."""
    records = [each for each in load_run(folder).records if rule.applies(each)]
    return [each for each in records if each.figure(rule.metric) is not None]


CASES = [
    pytest.param(folder, rule, id=f"{folder.name}-{rule}")
    for folder in folders()
    for rule in (*shipped().exact, *shipped().bound, *shipped().ratio)
    if under(rule, folder)
]
BOUNDED = [case for case in CASES if isinstance(case.values[1], Bound | Ratio)]


def gate(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str]:
    """The command on this folder: its exit code and what it printed."""
    monkeypatch.setattr("sys.argv", ["streamlanes", "gate", str(folder), "--thresholds", str(THRESHOLDS)])
    with pytest.raises(SystemExit) as over:
        cli.main()
    return int(over.value.code or 0), capsys.readouterr().out


def copy(folder: Path, into: Path, chosen: Iterable[Record], plant: Plant) -> Path:
    """A copy of a run in which some records hold a fault."""
    ids = {record.cell.id for record in chosen}
    assert ids
    into.mkdir()
    (into / "run.json").write_bytes((folder / "run.json").read_bytes())
    lines = []
    for record in load_run(folder).records:
        raw = json.loads(encode(record))
        if record.cell.id in ids:
            plant(raw)
        lines.append(json.dumps(raw))
    (into / "records.jsonl").write_text("\n".join(lines) + "\n")
    return into


def put(path: str, value: float) -> Plant:
    """A figure set to another value."""

    def plant(raw: dict[str, Any]) -> None:
        *above, last = path.split(".")
        at = raw
        for name in above:
            at = at[name]
        assert at[last] is not None
        at[last] = value

    return plant


def noisy(raw: dict[str, Any]) -> None:
    """The host was noisy."""
    raw["flags"].append({"name": "noisy-host", "evidence": {}})


def beyond(rule: Exact | Bound | Ratio, record: Record) -> float:
    """A value of the rule's metric that breaks it, whatever the other side of a ratio is."""
    if isinstance(rule, Exact):
        return (record.figure(rule.metric) or 0) + 1
    if isinstance(rule, Ratio):
        return 1e6 if rule.at_most is not None else 1e-6
    return rule.at_most * 1.01 if rule.at_most is not None else (rule.at_least or 0) * 0.99


def named(rule: Rule, record: Record) -> str:
    """How the line of a breach begins."""
    if isinstance(rule, Ratio):
        return f"BROKEN  {cell(record)}: {rule.metric} over that of {rule.against} is "
    return f"BROKEN  {record.cell.id if isinstance(rule, Exact) else cell(record)}: {rule.metric} is "


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_a_published_result_passes_and_every_record_is_judged(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    code, said = gate(folder, capsys, monkeypatch)
    assert (code, said.splitlines()[-1].split(":")[0]) == (0, "GATE    pass")


def test_the_published_runs_come_under_every_rule():
    everything = [*shipped().exact, *shipped().bound, *shipped().ratio]
    everything = [rule for rule in everything if rule.for_lane("io")]
    assert [str(rule) for rule in everything if not any(under(rule, one) for one in folders())] == []


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_one_lost_token_breaks_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    victim = next(record for record in load_run(folder).records if record.status.name == "ok")
    bad = copy(folder, tmp_path / "bad", [victim], put("counts.lost_tokens", 1))
    code, said = gate(bad, capsys, monkeypatch)
    broken = [line for line in said.splitlines() if line.startswith("BROKEN")]
    assert code == 1
    assert len(broken) == 1
    assert broken[0].startswith(f"BROKEN  {victim.cell.id}: counts.lost_tokens is 1, wanted 0; every token")


@pytest.mark.parametrize(("folder", "rule"), CASES)
def test_a_breach_of_each_rule_is_named_with_its_cell_and_its_reason(
    folder: Path,
    rule: Exact | Bound | Ratio,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    victim = under(rule, folder)[0]
    all_of_it = [record for record in under(rule, folder) if cell(record) == cell(victim)]
    chosen = [victim] if isinstance(rule, Exact) else all_of_it
    bad = copy(folder, tmp_path / "bad", chosen, put(rule.metric, beyond(rule, victim)))
    code, said = gate(bad, capsys, monkeypatch)
    assert code == 1
    (line,) = [line for line in said.splitlines() if line.startswith(named(rule, victim))]
    assert line.endswith(rule.reason)


def holds(rule: Bound, record: Record) -> bool:
    """Whether this repetition by itself is within the bound."""
    value = record.figure(rule.metric)
    assert value is not None
    most, least = rule.at_most, rule.at_least
    return (most is None or value <= most) and (least is None or value >= least)


def medians() -> list[Any]:
    """The bounds that are judged by the median of three repetitions."""
    return [case for case in BOUNDED if isinstance(case.values[1], Bound) and case.values[1].repetitions == 3]


@pytest.mark.parametrize(("folder", "rule"), medians())
def test_one_bad_repetition_of_three_does_not_break_a_bound_and_two_do(
    folder: Path,
    rule: Bound,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    groups: dict[str, list[Record]] = {}
    for record in under(rule, folder):
        groups.setdefault(cell(record), []).append(record)
    # One that has a bad repetition already would break by the next.
    repetitions = next(each for each in groups.values() if all(holds(rule, one) for one in each))
    victim = repetitions[0]
    assert len(repetitions) >= 3
    bad = put(rule.metric, beyond(rule, victim))
    one = copy(folder, tmp_path / "one", repetitions[:1], bad)
    assert gate(one, capsys, monkeypatch)[0] == 0
    two = copy(folder, tmp_path / "two", repetitions[:2], bad)
    code, said = gate(two, capsys, monkeypatch)
    assert code == 1
    assert named(rule, victim) in said


def doubting() -> list[Any]:
    """The bounds and ratios for which flagged repetitions do not count."""
    return [case for case in BOUNDED if not getattr(case.values[1], "doubted", False)]


@pytest.mark.parametrize(("folder", "rule"), doubting())
def test_too_few_clean_repetitions_are_inconclusive_and_named(
    folder: Path,
    rule: Bound | Ratio,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    victim = under(rule, folder)[0]
    doubted = copy(folder, tmp_path / "doubted", [victim], noisy)
    code, said = gate(doubted, capsys, monkeypatch)
    assert code == 3
    what = "pairs" if isinstance(rule, Ratio) else "repetitions"
    few = f"{rule.repetitions - 1} of {rule.repetitions} clean {what}"
    assert f"OPEN    {cell(victim)}: {rule}: {few}" in said.splitlines()
    assert "GATE    inconclusive" in said


@pytest.mark.parametrize("profile", ["durable", "architectures", "work", "replay"])
def test_the_other_published_runs_pass_what_is_for_them(
    profile: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """`storm` refuses calls on purpose, and of `clients` most cells run once: no rule is for those."""
    (folder,) = (ROOT / "results" / "published").glob(f"*/{profile}")
    code, said = gate(folder, capsys, monkeypatch)
    assert code == 0, said
    assert said.splitlines()[-1].startswith("GATE    pass: ")
