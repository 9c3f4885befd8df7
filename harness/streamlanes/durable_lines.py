"""The words of `streamlanes durable effects`, `chaos` and `agents`. Pure."""

from collections.abc import Sequence
from statistics import median

from streamlanes.agents_trial import Ran
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


def agents_heads() -> str:
    """The head of the table that `agents_line` fills as the runs end."""
    return _agents_row(
        ("agents", "groups", "chat", "admin", "an agent", "wakes", "batch", "threads", "awake", "")
    )


def agents_line(ran: Ran) -> str:
    """One run of the task."""
    figures = (ran.agents, ran.groups, ran.chat, ran.admin)
    rest = (ran.wakes, ran.largest, ran.threads, ran.awake)
    each = f"{ran.messages / ran.agents:.2f}"
    return _agents_row((*map("{:,}".format, figures), each, *map("{:,}".format, rest), _of_the_task(ran)))


def agents_answer(all_ran: Sequence[Ran]) -> list[str]:
    """What growing costs, in groups and in one room."""
    wrong = [ran for ran in all_ran if not ran.as_expected]
    grown = [ran for ran in all_ran if ran.groups > 1] or all_ran[:1]
    rooms = [ran for ran in all_ran if ran.groups == 1 and ran is not grown[0]]
    last = grown[-1]
    said = [
        f"{last.agents:,} agents in {last.groups:,} groups: {last.messages:,} messages, "
        f"{last.messages / last.agents:.2f} an agent ("
        + ", ".join(f"{ran.messages / ran.agents:.2f} with {ran.agents:,}" for ran in grown)
        + ")"
    ]
    if rooms:
        found = ", ".join(f"{ran.messages / ran.agents:.0f} with {ran.agents}" for ran in rooms)
        would = last.agents * (last.agents - 1)
        said.append(
            f"in one room an agent takes {found}; all {last.agents:,} there would take {would:,} messages"
        )
    said.append(
        f"{last.agents:,} agents had {last.threads} threads, {grown[0].agents:,} had {grown[0].threads}; "
        f"tasks only those awake, at most {max(ran.awake for ran in all_ran)}"
    )
    if wrong:
        said = [f"not as it must be: {len(wrong)} of {len(all_ran)} runs", *said]
    return ["", *(f"{'ANSWER' if not place else '      '}  {line}" for place, line in enumerate(said))]


def _of_the_task(ran: Ran) -> str:
    if ran.as_expected:
        return "done, exact"
    return f"WRONG: {ran.messages:,} of {ran.expected:,} messages, {'' if ran.done else 'not '}done"


def _agents_row(cells: Sequence[str]) -> str:
    return "".join(cell.rjust(9) for cell in cells[:-1]) + (f"  {cells[-1]}" if cells[-1] else "")


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
