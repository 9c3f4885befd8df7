"""The words of `streamlanes durable pending`, `approve`, `reject`, `versions` and `cap`. Pure."""

import json
from collections.abc import Sequence

from streamlanes.durable.caps import STORE, Cap, most
from streamlanes.durable.people import Request, shown
from streamlanes.durable.versions import Phase, Standing
from streamlanes.durable_lines import aligned

_WIDEST = 80
"""Characters of a proposal in a table; `--json` has all of it."""
_UNITS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"))


def pending_lines(requests: Sequence[Request], now_s: float) -> list[str]:
    """What waits for a person, the oldest first."""
    if not requests:
        return ["nothing waits for a person"]
    heads = ("REQUEST", "execution", "waits", "round", "proposal")
    rows = [
        (each.id, each.thread_id, duration(now_s - each.asked_s), str(each.round), proposal(each))
        for each in requests
    ]
    again = sum(each.round > 1 for each in requests)
    said = aligned([heads, *rows], right={2, 3})
    wait = f"{len(requests):,} wait{'s' * (len(requests) == 1)}"
    answer = f"{wait}; decide with `streamlanes durable approve REQUEST`, or reject"
    said += ["", f"ANSWER  {answer}"]
    if again:
        said.append(f"NOTE    {again:,} asked again: their worker ended after an approval was taken up")
    return said


def decided_line(decided: Request) -> str:
    """What a decision did."""
    note = f" ({shown(decided.note)})" if decided.note else ""
    goes = "goes on" if decided.status == "approved" else "is told so"
    what = f"{decided.status} {decided.id}{note}"
    return f"{what}: execution {decided.thread_id} {goes} as soon as a worker claims it"


def version_lines(standings: Sequence[Standing]) -> list[str]:
    """How each version stands, and whether it can ever be drained."""
    if not standings:
        return ["no executions, and no shares were set"]
    heads = ("VERSION", "share", "phase", "open", "parked", "capped", "done", "time to drain")
    rows = [
        (
            str(each.version),
            f"{each.share:.0%}",
            str(each.phase),
            *(f"{count:,}" for count in (each.open, each.parked, each.capped, each.done)),
            _drains(each),
        )
        for each in standings
    ]
    return [*aligned([heads, *rows], right={0, 1, 3, 4, 5, 6}), "", f"ANSWER  {split(standings)}"]


def split(standings: Sequence[Standing]) -> str:
    """What becomes of the versions as shares stand now."""
    active = [each for each in standings if each.phase is Phase.ACTIVE]
    draining = [each for each in standings if each.phase is Phase.DRAINING]
    drained = [str(each.version) for each in standings if each.phase is Phase.DRAINED]
    if len(active) > 1:
        names = ", ".join(f"{each.version} ({each.share:.0%})" for each in active)
        return (
            f"a permanent split: versions {names} all get new executions, so none of them ever drains; "
            "give the old one a share of 0"
        )
    said = [f"version {each.version} gets all new executions" for each in active]
    said += [f"version {each.version} drains, {each.left:,} executions left" for each in draining]
    if drained:
        said.append(f"version {', '.join(drained)} is drained: its workers can go")
    return "; ".join(said)


def cap_lines(caps: Sequence[Cap]) -> list[str]:
    """Every cap, and what was spent under it."""
    if not caps:
        return ["no cap is set"]
    heads = ("CAP OF", "tokens", "USD", "cost unknown", "at most", "")
    rows = [
        (
            "the store" if cap.scope == STORE else cap.scope,
            f"{cap.tokens:,}",
            f"{cap.usd:.2f}",
            _attempts(cap.unknown),
            most(cap),
            "REACHED: stopped" if cap.reached else "",
        )
        for cap in caps
    ]
    return aligned([heads, *rows], right={1, 2, 3})


def _attempts(count: int) -> str:
    return f"{count:,} attempt{'' if count == 1 else 's'}" if count else "-"


def proposal(request: Request) -> str:
    """A proposal on one line, without anything a terminal would act on."""
    text = json.dumps(request.proposal)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


def duration(seconds: float) -> str:
    """A time that a person waits: 12 s, 5 min, 3.5 h."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _drains(of: Standing) -> str:
    if of.drained_s is not None:
        return f"drained in {duration(of.drained_s)}"
    if of.left_s is not None:
        return f"about {duration(of.left_s)} at the rate so far"
    return of.why or ""
