"""What a store holds of executions: seen, summed up, carried elsewhere. Commands of `streamlanes durable`."""

import json as as_json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from streamlanes.durable.errors import DurableError
from streamlanes.errors import UserError
from streamlanes.named_store import HERE, SCHEMA, Schema, Where, no_execution, opened, shown

ThreadId = Annotated[str, typer.Argument(help="The execution's thread_id.")]
Json = Annotated[bool, typer.Option("--json", help="JSON Lines on standard output.")]

BROKEN = 1


def trace(thread_id: ThreadId, db: Where = HERE, schema: Schema = SCHEMA, json: Json = False) -> None:
    """Show what an execution did: claims, steps, attempts; with --json as OpenTelemetry spans."""
    from streamlanes import trace_lines
    from streamlanes.durable.spans import story
    from streamlanes.durable.telemetry import span_lines

    with opened(db, schema) as database:
        found = story(database, thread_id)
    if found is None:
        raise no_execution(thread_id, db)
    if not json:
        print(*trace_lines.story_lines(found), sep="\n")
        return
    made = span_lines(found)
    for line in made.lines:
        print(line)
    if made.left_out:
        print(f"{made.left_out} spans left out: nobody kept their times", file=sys.stderr)


def audit(
    thread_id: Annotated[str | None, typer.Argument(help="One execution; all if not named.")] = None,
    db: Where = HERE,
    schema: Schema = SCHEMA,
    json: Json = False,
) -> None:
    """Latencies, retries and failures by class; exit 1 where rows are not what workers can have written."""
    from streamlanes import trace_lines
    from streamlanes.durable import audit as audits
    from streamlanes.durable.spans import Span

    found: list[audits.Audit] = []
    spans: list[Span] = []
    with opened(db, schema) as database:
        for name in [thread_id] if thread_id is not None else audits.executions(database):
            one = audits.audit(database, name)
            if one is None:
                raise no_execution(name, db)
            found.append(one[0])
            spans += one[1]
    latencies = audits.latencies(spans)
    if json:
        for each in found:
            print(as_json.dumps({"execution": asdict(each)}))
        for latency in latencies.values():
            print(as_json.dumps({"latency": {**asdict(latency), "bounds_ms": audits.BOUNDS_MS}}))
    else:
        print(*trace_lines.audit_lines(found, latencies), sep="\n")
    raise typer.Exit(BROKEN if any(each.problems for each in found) else 0)


def export(
    thread_id: ThreadId,
    out: Annotated[Path | None, typer.Option(help="A file; standard output if not named.")] = None,
    db: Where = HERE,
    schema: Schema = SCHEMA,
) -> None:
    """Write a workflow's log as JSON Lines."""
    from streamlanes.durable.events import Events
    from streamlanes.durable.leases import Leases
    from streamlanes.durable.logfile import Exported, export_lines

    with opened(db, schema) as database:
        events, version = Events(database).read(thread_id), Leases(database).version(thread_id)
    if not events or version is None:
        raise no_execution(thread_id, db)
    lines = export_lines(Exported(thread_id, version, events))
    if out is None:
        sys.stdout.writelines(lines)
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.writelines(lines)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}; name a new file") from None


def import_(
    file: Annotated[Path, typer.Argument(help="A file that `export` wrote.")],
    check: Annotated[bool, typer.Option("--check", help="Only look whether the file is whole.")] = False,
    db: Where = HERE,
    schema: Schema = SCHEMA,
) -> None:
    """Put an exported log into a store that has it not; a file that is cut is refused, and nothing taken."""
    from streamlanes.durable.events import Events
    from streamlanes.durable.logfile import MOST_CHARACTERS, import_lines

    try:
        with file.open(encoding="utf-8", newline="\n") as lines:
            found = import_lines(iter(lambda: lines.readline(MOST_CHARACTERS), ""))
    except DurableError as error:
        raise UserError(f"{file}: {error}") from None
    except UnicodeDecodeError:
        raise UserError(f"{file} is no text; name a file that `export` wrote") from None
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}; name a file that `export` wrote") from None
    if not check:
        with opened(db, schema, make=True) as database:
            Events(database).adopt(found.thread_id, found.version, found.events).result()
    done = "is whole" if check else f"is in {shown(db)}"
    print(f"{found.thread_id}: {len(found.events)} events, the log {done}")


def add_to(app: typer.Typer) -> None:
    """Make them commands of an app."""
    for command in (trace, audit, export):
        app.command()(command)
    app.command("import")(import_)
