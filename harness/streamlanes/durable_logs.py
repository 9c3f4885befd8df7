"""`streamlanes durable trace`, `audit`, `export`, `import`, `demo`: parse, call, print."""

import contextlib
import json as as_json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from streamlanes.durable.database import Database
from streamlanes.durable.errors import DurableError
from streamlanes.errors import UserError

Store = Annotated[str, typer.Argument(help="A file of SQLite, or postgresql://...")]
ThreadId = Annotated[str, typer.Argument(help="The execution's thread_id.")]
Json = Annotated[bool, typer.Option("--json", help="JSON Lines on standard output.")]

BROKEN = 1


@contextlib.contextmanager
def _opened(store: str, *, make: bool = False) -> Iterator[Database]:
    """A store, closed after the block. Raises UserError for one that is not there, unless it may be made."""
    from streamlanes.durable.opening import SERVER, open_database

    if not store.startswith(SERVER) and not make and not Path(store).is_file():
        raise UserError(f"there is no store {store}; name a file of SQLite, or postgresql://...")
    try:
        with contextlib.closing(open_database(store)) as database:
            yield database
    except DurableError as error:
        raise UserError(str(error)) from None


def _no(thread_id: str, store: str) -> UserError:
    return UserError(f"no execution {thread_id!r} in {store}; `streamlanes durable audit {store}` lists all")


def trace(store: Store, thread_id: ThreadId, json: Json = False) -> None:
    """Show what an execution did: claims, steps, attempts; with --json as OpenTelemetry spans."""
    from streamlanes import trace_lines
    from streamlanes.durable.spans import story
    from streamlanes.durable.telemetry import span_lines

    with _opened(store) as database:
        found = story(database, thread_id)
    if found is None:
        raise _no(thread_id, store)
    if not json:
        print(*trace_lines.story_lines(found), sep="\n")
        return
    made = span_lines(found)
    for line in made.lines:
        print(line)
    if made.left_out:
        print(f"{made.left_out} spans left out: nobody kept their times", file=sys.stderr)


def audit(
    store: Store,
    thread_id: Annotated[str | None, typer.Argument(help="One execution; all if not named.")] = None,
    json: Json = False,
) -> None:
    """Latencies, retries and failures by class; exit 1 where rows are not what workers can have written."""
    from streamlanes import trace_lines
    from streamlanes.durable import audit as audits
    from streamlanes.durable.spans import Span

    found: list[audits.Audit] = []
    spans: list[Span] = []
    with _opened(store) as database:
        for name in [thread_id] if thread_id is not None else audits.executions(database):
            one = audits.audit(database, name)
            if one is None:
                raise _no(name, store)
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
    store: Store,
    thread_id: ThreadId,
    out: Annotated[Path | None, typer.Option(help="A file; standard output if not named.")] = None,
) -> None:
    """Write a workflow's log as JSON Lines."""
    from streamlanes.durable.events import Events
    from streamlanes.durable.logfile import export_lines

    with _opened(store) as database:
        events = Events(database).read(thread_id)
    if not events:
        raise _no(thread_id, store)
    if out is None:
        sys.stdout.writelines(export_lines(thread_id, events))
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.writelines(export_lines(thread_id, events))
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}; name a new file") from None


def import_(
    store: Store,
    file: Annotated[Path, typer.Argument(help="A file that `export` wrote.")],
    check: Annotated[bool, typer.Option("--check", help="Only look whether the file is whole.")] = False,
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
        with _opened(store, make=True) as database:
            Events(database).adopt(found.thread_id, found.events).result()
    done = "is whole" if check else f"is in {store}"
    print(f"{found.thread_id}: {len(found.events)} events, the log {done}")


def demo(
    act: Annotated[list[str] | None, typer.Option(help="Acts to play; all if not named.")] = None,
    crash_at: Annotated[int, typer.Option(help="Step or activity in which workers die.", min=1, max=100)] = 4,
    calls: Annotated[int, typer.Option("-n", "--calls", help="Calls of the act lanes.", min=1)] = 500,
    json: Json = False,
) -> None:
    """Tell the durable lane's story, expected beside measured: exit 0 if all is as expected, else 1."""
    from streamlanes.demo import acts
    from streamlanes.demo.lines import act_lines, answer_line

    names = acts.chosen(act or [])
    played = []
    try:
        for one in acts.play(names, crash_at, calls):
            played.append(one)
            if json:
                figures = [{**asdict(figure), "holds": figure.holds} for figure in one.figures]
                said = {"name": one.name, "says": one.says, "took_s": one.took_s, "holds": one.holds}
                print(as_json.dumps({"act": {**said, "figures": figures}}), flush=True)
            else:
                print(*act_lines(one, len(played), len(names)), sep="\n", flush=True)
    except DurableError as error:
        raise UserError(str(error)) from None
    if not json:
        print(answer_line(played))
    raise typer.Exit(0 if all(one.holds for one in played) else BROKEN)
