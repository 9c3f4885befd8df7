"""What a person does to executions at work: decide, deploy, cap. Commands of `streamlanes durable`."""

import difflib
import getpass
import json as as_json
import time
from dataclasses import asdict
from typing import Annotated

import typer

from streamlanes.durable.errors import NoRequest
from streamlanes.errors import UserError
from streamlanes.named_store import HERE, SCHEMA, Schema, Where, no_execution, opened

Id = Annotated[str, typer.Argument(metavar="REQUEST", help="As `pending` names it.")]
By = Annotated[str | None, typer.Option("--by", help="Who decides; the user's name if not given.")]
Note = Annotated[str, typer.Option("--note", help="Why; the execution is told.")]
Json = Annotated[bool, typer.Option("--json", help="One object a line on standard output.")]


def pending(db: Where = HERE, schema: Schema = SCHEMA, json: Json = False) -> None:
    """List what waits for a person."""
    from streamlanes import operate_lines
    from streamlanes.durable.people import People

    with opened(db, schema) as database:
        found = People(database).pending()
    if json:
        for each in found:
            print(as_json.dumps(asdict(each)), flush=True)
    else:
        print(*operate_lines.pending_lines(found, time.time()), sep="\n")


def approve(
    request: Id, by: By = None, note: Note = "", db: Where = HERE, schema: Schema = SCHEMA, json: Json = False
) -> None:
    """Approve what an execution proposes; it goes on as soon as a worker claims it."""
    _decide(request, True, by, note, db, schema, json)


def reject(
    request: Id, by: By = None, note: Note = "", db: Where = HERE, schema: Schema = SCHEMA, json: Json = False
) -> None:
    """Reject what an execution proposes; it goes on, and is told so."""
    _decide(request, False, by, note, db, schema, json)


def versions(
    share: Annotated[
        str | None, typer.Option(help="Give new executions to versions: 1=0.9,2=0.1; to others none.")
    ] = None,
    db: Where = HERE,
    schema: Schema = SCHEMA,
    json: Json = False,
) -> None:
    """Show runtime versions side by side, and what is left of those that drain; or share new executions."""
    from streamlanes import operate_lines
    from streamlanes.durable.versions import Versions

    shares = None if share is None else _shares(share)
    with opened(db, schema) as database:
        if shares is not None:
            Versions(database).share(shares).result()
        found = Versions(database).standing()
    if json:
        for each in found:
            print(as_json.dumps(asdict(each)), flush=True)
    else:
        print(*operate_lines.version_lines(found), sep="\n")


def cap(
    tokens: Annotated[int | None, typer.Option(help="Most tokens, prompt and output.", min=0)] = None,
    usd: Annotated[float | None, typer.Option(help="Most US dollars.", min=0.0)] = None,
    execution: Annotated[str | None, typer.Option(help="Of this one; of the store if not named.")] = None,
    lift: Annotated[bool, typer.Option("--lift", help="Have no cap there any more.")] = False,
    db: Where = HERE,
    schema: Schema = SCHEMA,
    json: Json = False,
) -> None:
    """Stop spending above a cap, 0 at once, until it is raised; without a figure, show what was spent."""
    from streamlanes import operate_lines
    from streamlanes.durable.caps import STORE, Caps
    from streamlanes.durable.leases import Leases
    from streamlanes.durable.values import named

    figures = tokens is not None or usd is not None
    if lift and figures:
        raise UserError("--lift takes a cap away and --tokens or --usd set one; give one of the two")
    with opened(db, schema) as database:
        caps, scope = Caps(database), STORE if execution is None else named(execution)
        there = scope == STORE or Leases(database).status(scope) is not None
        if not there and all(each.scope != scope for each in caps.all()):
            raise no_execution(scope, db)  # a switch that is thrown for nobody stops nothing
        if figures:
            caps.set(scope, tokens, usd).result()
        elif lift:
            caps.lift(scope).result()
        found = caps.all()
    if json:
        for each in found:
            print(as_json.dumps({**asdict(each), "reached": each.reached}), flush=True)
    else:
        print(*operate_lines.cap_lines(found), sep="\n")


def add_to(app: typer.Typer) -> None:
    """Make them commands of an app."""
    for command in (pending, approve, reject, versions, cap):
        app.command()(command)


def _decide(id: str, approved: bool, by: str | None, note: str, db: str, schema: str, json: bool) -> None:
    from streamlanes import operate_lines
    from streamlanes.durable.people import People

    with opened(db, schema) as database:
        people = People(database)
        try:
            decided = people.decide(id, approved, _somebody() if by is None else by, note).result()
        except NoRequest as error:
            near = difflib.get_close_matches(id, [each.id for each in people.pending()], n=1)
            raise UserError(f"{error}" + (f"; did you mean {near[0]!r}?" if near else "")) from None
    print(as_json.dumps(asdict(decided)) if json else operate_lines.decided_line(decided))


def _shares(text: str) -> dict[int, float]:
    """`1=0.9,2=0.1` as numbers. Raises UserError."""
    shares: dict[int, float] = {}
    for part in text.split(","):
        version, _, share = part.partition("=")
        try:
            shares[int(version)] = float(share)
        except ValueError:
            raise UserError(f"--share has {part[:40]!r}; give VERSION=SHARE, as in 1=0.9,2=0.1") from None
    return shares


def _somebody() -> str:
    """The user's name; empty where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
