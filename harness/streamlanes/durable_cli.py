"""`streamlanes durable`: parse, call, print."""

import contextlib
import json as as_json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from streamlanes import durable_logs, operate_cli
from streamlanes.durable.errors import DurableError
from streamlanes.errors import UserError

app = typer.Typer(no_args_is_help=True, help="Executions that survive their workers, and the proof.")
durable_logs.add_to(app)
operate_cli.add_to(app)

BROKEN = 1
INCONCLUSIVE = 3
MOST = 100_000
TARGETS = ("durable", "run")


def _out(record: dict[str, Any]) -> None:
    print(as_json.dumps(record), flush=True)


@contextlib.contextmanager
def _mistakes() -> Iterator[None]:
    """A store that cannot be had is the user's to mend."""
    try:
        yield
    except DurableError as error:
        raise UserError(str(error)) from None


@app.command()
def effects(
    calls: Annotated[
        int, typer.Option("-n", "--calls", help="Calls of each sender.", min=1, max=100_000)
    ] = 200,
    url: Annotated[str | None, typer.Option(help="An endpoint of your own to try in place.")] = None,
    ledger: Annotated[str | None, typer.Option(help="Where it answers with its counts by key.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One object a line on standard output.")] = False,
) -> None:
    """Send to a receiver that fails after its effect: exit 0 if each sender does as it must, else 1.

    With --ledger, 3 where that does not tell the duplicates.
    """
    from streamlanes import durable_lines, effects_trial

    for name, address in (("--url", url), ("--ledger", ledger)):
        if address is not None and not address.startswith(("http://", "https://")):
            raise UserError(f"{name} is {address!r}; give an address that begins with http:// or https://")
    if url is not None:
        found = effects_trial.run_against(url, calls, ledger)
        _out(asdict(found)) if json else print(*durable_lines.foreign_lines(found), sep="\n")
        if not found.ok and not found.duplicated:
            raise UserError(f"no call to {url} was answered; see that it is up and takes a POST of JSON")
        if ledger is not None and found.duplicated is None:
            raise typer.Exit(INCONCLUSIVE)
        raise typer.Exit(BROKEN if found.duplicated else 0)
    if ledger is not None:
        raise UserError("--ledger belongs to an endpoint of your own; name that with --url")
    with _mistakes(), tempfile.TemporaryDirectory(prefix="streamlanes-effects-") as folder:
        all_sent = effects_trial.run_senders(calls, Path(folder))
    if json:
        for one in all_sent:
            _out({**asdict(one), "as_expected": one.as_expected})
    else:
        print(*durable_lines.sent_lines(all_sent), sep="\n")
    raise typer.Exit(0 if all(one.as_expected for one in all_sent) else BROKEN)


@app.command()
def chaos(
    kills: Annotated[int, typer.Option(help="Kills on each store.", min=1, max=MOST)] = 30,
    store: Annotated[
        str | None, typer.Option(help="sqlite, postgres, or both by comma; sqlite if not named.")
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(help="What workers do: steps, approval, rainbow, replay, queue, by comma."),
    ] = None,
    target: Annotated[str, typer.Option(help="What is killed: durable (workers) or run.")] = "durable",
    seed: Annotated[int, typer.Option(help="Draws points, signals and moments.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="One object a line on standard output.")] = False,
) -> None:
    """Kill workers at named points and count what is lost or done twice: exit 0 if nothing, else 1."""
    from streamlanes import durable_lines
    from streamlanes.chaos import plan, session
    from streamlanes.durable.points import NOT_TESTED
    from streamlanes.errors import unknown

    if target not in TARGETS:
        raise unknown("target", target, TARGETS)
    if target == "run":
        for name, value in (("--store", store), ("--scenario", scenario)):
            if value is not None:
                raise UserError(f"{name} means nothing to --target run, which has no store; leave it out")
        _kill_runs(kills, seed, json)
    stores = _words("store", plan.SQLITE if store is None else store, plan.STORES)
    named = plan.Scenario.STEPS if scenario is None else scenario
    scenarios = [plan.Scenario(word) for word in _words("scenario", named, list(plan.Scenario))]
    talk = sys.stderr if json else sys.stdout
    told = []

    def tell(trial: plan.Trial) -> None:
        told.append(trial)
        if json:
            _out({"schema": plan.SCHEMA, "trial": asdict(trial)})
        else:
            print(durable_lines.trial_line(trial, len(told), kills * len(stores)), file=talk, flush=True)

    with _mistakes():
        verdict = session.run(kills, stores, scenarios, seed, plan.Size(), tell)
    if json:
        for control in verdict.controls:
            _out({"schema": plan.SCHEMA, "control": {**asdict(control), "as_expected": control.as_expected}})
        _out({"schema": plan.SCHEMA, "verdict": {**verdict.fields(), "not_tested": NOT_TESTED}})
    else:
        print(*durable_lines.verdict_lines(verdict), sep="\n")
    raise typer.Exit(0 if verdict.passed else BROKEN)


def _words(kind: str, text: str, known: Sequence[str]) -> list[str]:
    """The names in a list by comma, each once. Raises UserError for one that is not known."""
    from streamlanes.errors import unknown

    words = list(dict.fromkeys(word.strip() for word in text.split(",")))
    for word in words:
        if word not in known:
            raise unknown(kind, word, known)
    return words


def _kill_runs(kills: int, seed: int, json: bool) -> None:
    """`--target run`: ends the command."""
    from streamlanes import durable_lines
    from streamlanes.chaos.cells import run_killed
    from streamlanes.chaos.plan import SCHEMA

    def tell(struck: int, records: int) -> None:
        print(f"[{struck}/{kills}] {records} records", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="streamlanes-chaos-") as folder:
        found = run_killed(kills, Path(folder), seed, tell)
    if json:
        _out({"schema": SCHEMA, "verdict": {**asdict(found), "passed": found.passed}})
    else:
        print(*durable_lines.cells_lines(found), sep="\n")
    raise typer.Exit(0 if found.passed else BROKEN)


@app.command()
def agents(
    agents: Annotated[int, typer.Option(help="Agents, at most 20,000.", min=2, max=20_000)] = 600,
    group_size: Annotated[int, typer.Option(help="Agents in a group.", max=200)] = 10,
    store: Annotated[str, typer.Option(help="sqlite or postgres.")] = "sqlite",
    json: Annotated[bool, typer.Option("--json", help="One object a line on standard output.")] = False,
) -> None:
    """Have agents write to each other in groups and count their messages: exit 0 if exact, else 1."""
    from streamlanes import agents_trial, durable_lines
    from streamlanes.errors import unknown

    if store not in agents_trial.STORES:
        raise unknown("store", store, agents_trial.STORES)

    def tell(ran: agents_trial.Ran) -> None:
        _out(ran.fields()) if json else print(durable_lines.agents_line(ran), flush=True)

    with _mistakes():
        runs = agents_trial.sizes(agents, group_size)
        if not json:
            print(durable_lines.agents_heads(), flush=True)
        all_ran = agents_trial.run_all(runs, store, tell)
    if not json:
        print(*durable_lines.agents_answer(all_ran), sep="\n")
    raise typer.Exit(0 if all(ran.as_expected for ran in all_ran) else BROKEN)


@app.command()
def demo(
    act: Annotated[list[str] | None, typer.Option(help="Acts to play; all if not named.")] = None,
    crash_at: Annotated[int, typer.Option(help="Step or activity in which workers die.", min=1, max=100)] = 4,
    calls: Annotated[int, typer.Option("-n", "--calls", help="Calls of the act lanes.", min=1)] = 500,
    json: Annotated[bool, typer.Option("--json", help="One object a line on standard output.")] = False,
) -> None:
    """Tell the durable lane's story, expected beside measured: exit 0 if all is as expected, else 1."""
    from streamlanes.demo import acts
    from streamlanes.demo.lines import act_lines, answer_line

    names = acts.chosen(act or [])
    played = []
    with _mistakes():
        for one in acts.play(names, crash_at, calls):
            played.append(one)
            if json:
                figures = [{**asdict(figure), "holds": figure.holds} for figure in one.figures]
                said = {"name": one.name, "says": one.says, "took_s": one.took_s, "holds": one.holds}
                _out({"act": {**said, "figures": figures}})
            else:
                print(*act_lines(one, len(played), len(names)), sep="\n", flush=True)
    if not json:
        print(answer_line(played))
    raise typer.Exit(0 if all(one.holds for one in played) else BROKEN)
