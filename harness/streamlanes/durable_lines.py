"""The words of `streamlanes durable effects` and `streamlanes durable chaos`. Pure."""

from collections.abc import Sequence
from statistics import median

from streamlanes.chaos.cells import CellsKilled
from streamlanes.chaos.plan import NOT_TESTED, Control, How, Recovery, Trial, Verdict
from streamlanes.durable.points import Point
from streamlanes.effects_trial import Foreign, Sent


def sent_lines(all_sent: Sequence[Sent]) -> list[str]:
    """A row a sender, and the answer."""
    heads = ("sender", "calls", "ok", "effects", "duplicated", "", "")
    rows = [
        (
            one.name,
            f"{one.calls:,}",
            f"{one.ok:,}",
            f"{one.effects:,}",
            f"{one.duplicated:,}",
            _judged(one),
            one.says,
        )
        for one in all_sent
    ]
    right = [one for one in all_sent if not one.must_duplicate]
    wrong = [one for one in all_sent if one.must_duplicate]
    if all(one.as_expected for one in all_sent):
        answer = f"{len(right)} ways made every effect once; {len(wrong)} wrong ones were found out"
    else:
        answer = "not as it must be: " + ", ".join(one.name for one in all_sent if not one.as_expected)
    return [*_aligned([heads, *rows], right={1, 2, 3, 4}), "", f"ANSWER  {answer}"]


def foreign_lines(found: Foreign) -> list[str]:
    """What someone's own endpoint did."""
    said = [f"{found.url}: {found.ok:,} of {found.calls:,} keys answered, each sent twice"]
    if found.duplicated is not None:
        said.append(f"duplicated   {found.duplicated:,} effects beyond one for each key, by its own ledger")
    else:
        said.append(f"duplicated   unknown: {found.why_not_counted}")
    said.append(f"differing    {found.differing:,} keys whose second answer was another one")
    return said


def trial_line(trial: Trial, number: int, total: int) -> str:
    """One kill as it comes."""
    kill = trial.kill
    came = "clean" if trial.counts.clean else _wrong(trial)
    if not trial.struck:
        came = "not struck: the worker was done before"
    where = f"{kill.store}/{kill.how}/{kill.point} passage {kill.hit}"
    return f"[{number}/{total}] {where}  {came}" + (
        f"  redone {trial.counts.redone}" if trial.counts.redone else ""
    )


def verdict_lines(verdict: Verdict) -> list[str]:
    """Counts by store and point, recovery in its parts, controls, and what was not tested."""
    said = ["", *_aligned(_by_point(verdict), right=set(range(1, 8))), ""]
    said += [f"RECOVERY  {line}" for line in _recoveries(verdict.trials)]
    heads = ("CONTROL", "lost", "duplicated", "redone", "unfinished", "", "")
    said += ["", *_aligned([heads, *map(_control, verdict.controls)], right={1, 2, 3, 4})]
    counts = verdict.counts
    result = (
        f"{verdict.kills} kills: {counts.lost} lost, {counts.duplicated} duplicated, "
        f"{counts.false_done} false done, {counts.unfinished} unfinished; {counts.redone} steps redone"
    )
    blunt = [control.name for control in verdict.controls if not control.as_expected]
    if blunt:
        result += f"; controls that did not show what they must: {', '.join(blunt)}"
    return [*said, "", f"ANSWER  {result}", f"NOTE    {NOT_TESTED}; power loss: see docs/durable.md"]


def cells_lines(found: CellsKilled) -> list[str]:
    """What killed runs came to."""
    return [
        f"ANSWER  {found.kills} kills of `streamlanes run`, {found.runs} runs of it finished: "
        f"{found.cells} cells, {found.repeated} repeated, {found.lost} lost"
    ]


def _judged(one: Sent) -> str:
    if one.must_duplicate:
        return "found out" if one.as_expected else "NOT FOUND OUT"
    return "exact" if one.as_expected else "WRONG"


def _wrong(trial: Trial) -> str:
    counts = trial.counts
    return (
        f"WRONG: {counts.lost} lost, {counts.duplicated} duplicated, {counts.false_done} false done, "
        f"{counts.unfinished} unfinished"
    )


def _by_point(verdict: Verdict) -> list[tuple[str, ...]]:
    rows = [("KILLED AT", *map(str, How), "lost", "duplicated", "false done", "unfinished", "redone")]
    for point in Point:
        trials = [trial for trial in verdict.trials if trial.kill.point is point and trial.struck]
        if trials:
            part = Verdict(trials, ()).counts
            by_how = [str(sum(trial.kill.how is how for trial in trials)) for how in How]
            names = ("lost", "duplicated", "false_done", "unfinished", "redone")
            rows.append((str(point), *by_how, *(str(getattr(part, name)) for name in names)))
    return rows


def _recoveries(trials: Sequence[Trial]) -> list[str]:
    """The parts of the way back, medians, by store; after SIGKILL, where a lease had to lapse."""
    said = []
    for store in dict.fromkeys(trial.kill.store for trial in trials):
        found = [
            trial.recovery
            for trial in trials
            if trial.kill.store == store
            and trial.kill.how is How.KILL
            and trial.recovery is not None
            and trial.recovery.detection_ms is not None
        ]
        if found:
            said.append(f"{store}, medians of {len(found)}: {_parts(found)}")
    return said or ["no worker held a lease when it was killed"]


def _parts(found: Sequence[Recovery]) -> str:
    """Medians of each part over those that have it."""
    share = median([one.detection_share for one in found if one.detection_share is not None])
    parts = [
        f"detection {median([one.detection_ms or 0.0 for one in found]):.0f} ms ({share:.0%} of the lease)"
    ]
    for name, word in (("start_ms", "start"), ("replay_ms", "replay"), ("first_step_ms", "first new step")):
        values = [value for one in found if (value := getattr(one, name)) is not None]
        parts.append(f"{word} {median(values):.0f} ms" if values else f"{word} none")
    return ", ".join(parts)


def _control(control: Control) -> tuple[str, ...]:
    counts = control.counts
    judged = "as it must" if control.as_expected else "NOT AS IT MUST"
    figures = (counts.lost, counts.duplicated, counts.redone, counts.unfinished)
    return (control.name, *map(str, figures), judged, control.says)


def _aligned(rows: Sequence[tuple[str, ...]], right: set[int]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
