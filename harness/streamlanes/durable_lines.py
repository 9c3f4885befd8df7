"""The words of `streamlanes durable effects`, `chaos` and `agents`. Pure."""

from collections.abc import Sequence
from statistics import median

from streamlanes.agents_trial import Ran
from streamlanes.chaos.cells import CellsKilled
from streamlanes.chaos.plan import (
    OWN_COUNTS,
    Control,
    Counts,
    How,
    Recovery,
    Scenario,
    Trial,
    Verdict,
)
from streamlanes.durable.points import NOT_TESTED, Point
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
        kept = " and ".join(dict.fromkeys(one.durability for one in all_sent))
        answer = f"{len(right)} ways made every effect once, keys on {kept}; "
        answer += f"{len(wrong)} wrong ones were found out"
    else:
        answer = "not as it must be: " + ", ".join(one.name for one in all_sent if not one.as_expected)
    return [*aligned([heads, *rows], right={1, 2, 3, 4}), "", f"ANSWER  {answer}"]


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
    where = f"{kill.store}/{kill.how}/{_place(kill.scenario, kill.point)} passage {kill.hit}"
    return f"[{number}/{total}] {where}  {came}" + (
        f"  redone {trial.counts.redone}" if trial.counts.redone else ""
    )


def verdict_lines(verdict: Verdict) -> list[str]:
    """Counts by store and point, recovery in its parts, controls, and what was not tested."""
    rows = _by_point(verdict)
    said = ["", *aligned(rows, right=set(range(1, len(rows[0])))), ""]
    said += [f"RECOVERY  {line}" for line in _recoveries(verdict.trials)]
    own = _own(verdict)
    heads = ("CONTROL", "lost", "duplicated", "redone", "unfinished", *map(_words, own), "", "")
    controls = [_control(control, own) for control in verdict.controls]
    said += ["", *aligned([heads, *controls], right=set(range(1, 5 + len(own))))]
    counts = verdict.counts
    stores = " and ".join(str(promised) for promised in verdict.durability.values())
    result = f"{verdict.kills} kills on {stores}: {_wrongs(counts, own)}; {counts.redone} steps redone"
    blunt = [control.name for control in verdict.controls if not control.as_expected]
    if blunt:
        result += f"; controls that did not show what they must: {', '.join(blunt)}"
    if verdict.short is not None:
        result += f"; {verdict.short}"
    if verdict.unreached:
        result += f"; no worker ever passed {', '.join(verdict.unreached)}"
    return [*said, "", f"ANSWER  {result}", f"NOTE    {NOT_TESTED}; power loss: see docs/durable.md"]


def cells_lines(found: CellsKilled) -> list[str]:
    """What killed runs came to."""
    result = (
        f"{found.kills} kills of `streamlanes run`, {found.runs} runs of it finished: "
        f"{found.cells} cells, {found.repeated} repeated, {found.lost} lost"
    )
    if found.kills < found.wanted:
        result += f"; {found.wanted} kills were wanted, but runs ended before: {found.last_words}"
    return [f"ANSWER  {result}"]


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
        f"{last.agents:,} agents in {last.groups:,} groups on {last.durability}: {last.messages:,} messages, "
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
    own = [name for name in OWN_COUNTS if getattr(trial.counts, name)]
    return f"WRONG: {_wrongs(trial.counts, own)}"


def _by_point(verdict: Verdict) -> list[tuple[str, ...]]:
    names = ("lost", "duplicated", "false_done", "unfinished", *_own(verdict), "redone")
    rows = [("KILLED AT", *map(str, How), *map(_words, names))]
    struck = [trial for trial in verdict.trials if trial.struck]
    for scenario, point in ((scenario, point) for scenario in Scenario for point in Point):
        trials = [one for one in struck if (one.kill.scenario, one.kill.point) == (scenario, point)]
        if trials:
            part = Verdict(trials, ()).counts
            by_how = [str(sum(trial.kill.how is how for trial in trials)) for how in How]
            rows.append((_place(scenario, point), *by_how, *(str(getattr(part, name)) for name in names)))
    return rows


def _place(scenario: Scenario, point: Point) -> str:
    """Where it struck; steps are what is killed where nothing else is named."""
    return str(point) if scenario is Scenario.STEPS else f"{scenario}/{point}"


def _own(verdict: Verdict) -> list[str]:
    """The counts that belong to the scenarios that were killed."""
    played = {trial.kill.scenario for trial in verdict.trials}
    return [name for name, scenario in OWN_COUNTS.items() if scenario in played]


def _wrongs(counts: Counts, own: Sequence[str]) -> str:
    """What went wrong, each with its number."""
    names = ("lost", "duplicated", "false_done", "unfinished", *own)
    return ", ".join(f"{getattr(counts, name)} {_words(name)}" for name in names)


def _words(name: str) -> str:
    """The name of a count as it is read."""
    return name.replace("_", " ")


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
    said = said or ["no worker held a lease when it was killed"]
    return said + _slowest(trials)


def _slowest(trials: Sequence[Trial]) -> list[str]:
    """The longest that an execution stood still, by store, whatever struck: medians hide it."""
    said = []
    for store in dict.fromkeys(trial.kill.store for trial in trials):
        stood = [
            (trial.recovery.stood_ms, trial.kill)
            for trial in trials
            if trial.kill.store == store and trial.recovery and trial.recovery.stood_ms is not None
        ]
        if stood:
            most_ms, kill = max(stood, key=lambda one: one[0])
            where = f"{kill.how} at {_place(kill.scenario, kill.point)} passage {kill.hit}"
            said.append(f"{store}, slowest of {len(stood)}: {most_ms:.0f} ms, {where}")
    return said


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


def _control(control: Control, own: Sequence[str]) -> tuple[str, ...]:
    counts = control.counts
    judged = "as it must" if control.as_expected else "NOT AS IT MUST"
    names = ("lost", "duplicated", "redone", "unfinished", *own)
    figures = [getattr(counts, name) for name in names]
    return (control.name, *map(str, figures), judged, control.says)


def aligned(rows: Sequence[tuple[str, ...]], right: set[int]) -> list[str]:
    """Rows in columns, without blanks at their ends. right: columns that lean to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
