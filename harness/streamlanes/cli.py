"""The command line: parse, call, print. Heavy imports stand inside the commands."""

import io
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from streamlanes import durable_cli
from streamlanes.errors import Terminated, UserError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Measure how to run thousands of streaming LLM calls in Python.",
    pretty_exceptions_enable=False,
)
app.add_typer(durable_cli.app, name="durable")

BAD_INPUT, FORBIDDEN, INTERRUPTED, PIPE_CLOSED, TERMINATED = 2, 4, 130, 141, 143


def _listed(values: list[str] | None) -> list[str]:
    """Words by comma or repetition."""
    words = [word.strip() for value in values or [] for word in value.split(",")]
    if not all(words):
        raise UserError("a list has an empty name in it")
    return words


def _numbers(values: list[str] | None) -> list[int]:
    found = []
    for word in _listed(values):
        try:
            found.append(int(word.replace("_", "")))
        except ValueError:
            raise UserError(f"calls is {word!r}; it must be a whole number") from None
        if found[-1] < 1:
            raise UserError(f"calls is {found[-1]}; it must be 1 or more")
    return found


@app.command()
def run(  # noqa: PLR0913, PLR0917  # one parameter an option
    profile: Annotated[str, typer.Argument(help="A profile's path, or a built-in one's name.")] = "quick",
    backends: Annotated[list[str] | None, typer.Option("-b", "--backend", help="Backends, by comma.")] = None,
    clients: Annotated[list[str] | None, typer.Option("-c", "--client", help="Clients, by comma.")] = None,
    functions: Annotated[
        list[str] | None, typer.Option("--call", help="Functions of your own, module:function, by comma.")
    ] = None,
    calls: Annotated[list[str] | None, typer.Option("-n", "--calls", help="Sizes, by comma.")] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "-w",
            "--workload",
            help="steady, lesson, flood, lockstep, paced, flow, documents, chat, code, peak10, trace.",
        ),
    ] = None,
    lane: Annotated[str | None, typer.Option(help="The lane: io, cpu, mixed, durable, chaos.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="axis=value; several values, by comma, are swept.")
    ] = None,
    knee: Annotated[
        bool, typer.Option("--knee", help="Seek the highest token rate that the calls bear.")
    ] = False,
    repeats: Annotated[int | None, typer.Option(help="Repetitions of every cell.", min=1, max=1000)] = None,
    budget_s: Annotated[float | None, typer.Option(help="Hard limit of a cell, seconds.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder itself.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One record a line on standard output.")] = False,
) -> None:
    """Measure a profile; any of -b -c --call -n -w --lane --set --knee replaces its matrix."""
    from streamlanes import conduct
    from streamlanes.axis_values import parse_setting
    from streamlanes.profile_files import load
    from streamlanes.wishes import Wishes

    chosen: dict[str, list[Any]] = {}
    for text in settings or []:
        axis, values = parse_setting(text)
        chosen.setdefault(axis, []).extend(values)
    wishes = Wishes(
        backends=_listed(backends),
        clients=_listed(clients),
        functions=_listed(functions),
        calls=_numbers(calls),
        workload=workload,
        lane=lane,
        settings=chosen,
        repeats=repeats,
        budget_s=budget_s,
        knee=knee,
    )
    wanted = wishes.applied(load(profile))
    talk = sys.stderr if json else sys.stdout
    with conduct.terminable():
        folder, records = conduct.run(wanted, out=out, json=json, talk=talk)
        raise typer.Exit(conduct.finish(folder, records, talk))


@app.command()
def report(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="A run's folder; the newest.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print table and answer, write nothing.")] = False,
) -> None:
    """Draw a run's charts and write its page, tables and CSV."""
    from streamlanes.advise import answer
    from streamlanes.conduct import RESULTS, summary
    from streamlanes.report import build
    from streamlanes.report.load import find_run, load_run

    found = find_run(folder, RESULTS)
    if not text:
        print(build(found, answer))
        return
    print("\n".join(summary(load_run(found).records)))


@app.command()
def gate(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="A run's folder; the newest.")
    ] = None,
    thresholds: Annotated[Path, typer.Option(help="The thresholds' TOML file.")] = Path(
        "bench/thresholds.toml"
    ),
) -> None:
    """Hold a run to its thresholds: exit 0 passed, 1 broken, 3 nothing to judge."""
    from streamlanes.conduct import RESULTS
    from streamlanes.gate import judge
    from streamlanes.report.load import find_run, load_run
    from streamlanes.rules import parse

    run = load_run(find_run(folder, RESULTS))
    try:
        text = thresholds.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UserError(f"cannot read {thresholds}: {why}; name a file with --thresholds") from None
    verdict = judge(run.records, parse(text, str(thresholds)))
    for line in verdict.lines():
        print(line)
    raise typer.Exit(verdict.exit_code)


@app.command()
def doctor(
    calls: Annotated[int, typer.Option("-n", "--calls", help="Calls at once.", min=1)] = 3000,
    backend: Annotated[str, typer.Option("-b", "--backend", help="The backend.")] = "asyncio",
    client: Annotated[str, typer.Option("-c", "--client", help="The client.")] = "streams",
    quick: Annotated[bool, typer.Option("--quick", help="Only read limits, measure nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Show what this machine allows and how exact it is: exit 0 if the calls fit, 4 if they cannot."""
    from streamlanes import checkup, conduct, doctor_lines
    from streamlanes.doctor import encode
    from streamlanes.progress import duration

    cell = checkup.asked(calls, backend, client)
    with conduct.terminable():
        report = checkup.examine(cell)
        if not json:
            print(*doctor_lines.limit_lines(report), "", sep="\n", flush=True)
        if not quick:
            about = duration(checkup.seconds(checkup.SIZE))
            print(f"measuring timers and noise, about {about}", file=sys.stderr, flush=True)
            report = replace(report, checkup=checkup.measure(checkup.SIZE))
    if json:
        print(encode(report).decode())
    else:
        found = doctor_lines.checkup_lines(report.checkup) if report.checkup else []
        print(*found, *([""] if found else []), *doctor_lines.answer_lines(report), sep="\n")
    raise typer.Exit(FORBIDDEN if report.forbidden else 0)


@app.command()
def provider(
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)
    ] = 8000,
    tls_port: Annotated[
        int | None, typer.Option(help="Port for HTTPS; the one after --port if not named.", min=0, max=65535)
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    profile: Annotated[
        str | None, typer.Option(help="A profile whose [provider] and [workload] tables hold.")
    ] = None,
    workload: Annotated[str, typer.Option("-w", "--workload", help="How its streams behave.")] = "steady",
    calls: Annotated[
        int, typer.Option("-n", "--calls", help="Calls in its schedule; then it repeats.", min=1)
    ] = 1000,
    settings: Annotated[list[str] | None, typer.Option("--set", help="axis=value.")] = None,
) -> None:
    """Serve the simulated provider alone, for anyone's client, until interrupted."""
    from streamlanes.alone import serve_alone
    from streamlanes.axis_values import parse_axes, parse_setting
    from streamlanes.profile import Profile
    from streamlanes.profile_files import load
    from streamlanes.workload import AXES as WORKLOAD_AXES

    chosen = dict(map(parse_setting, settings or []))
    for axis, values in chosen.items():
        if len(values) > 1 or axis not in WORKLOAD_AXES:
            raise UserError(f"--set {axis}: the provider takes one value of {', '.join(WORKLOAD_AXES)}")
    given = load(profile) if profile else Profile()
    axes = {axis: value for axis, value in given.workload.items() if axis in WORKLOAD_AXES}
    axes |= {axis: values[0] for axis, values in chosen.items()}
    ports = (port, tls_port if tls_port is not None else port and min(port + 1, 65535))
    serve_alone(host, ports, workload, calls, parse_axes(axes), given.provider)


def main() -> None:
    """Entry point: every mistake ends in one line and the documented exit code."""
    sys.stdout = sys.stdout or _nowhere()  # None where the caller closed it
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name must not cost the report
    sys.exit(_exit_code())


def _exit_code() -> int:  # noqa: PLR0911  # a return for each way a command can end
    try:
        code = app(standalone_mode=False, prog_name="streamlanes")
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except UserError as error:
        _complain(str(error))
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Terminated:
        return TERMINATED
    except BrokenPipeError:
        return _pipe_closed()
    except SystemExit as end:  # typer's word for a pipe that its reader closed
        return _pipe_closed() if end.code == 1 else int(end.code or 0)
    except OSError as error:  # a path or a disk that nothing nearer to it has caught
        sys.stdout = _nowhere()  # what is left in its buffer would fail once more at the end
        _complain(f"{error.filename or 'output'}: {error.strerror or error}; name another or make room")
        return BAD_INPUT
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        if text := error.format_message():  # typer's own: a wrong option or value
            _complain(text)
        return BAD_INPUT


def _pipe_closed() -> int:
    """The reader of our output left; python would say so once more at its end."""
    sys.stdout = _nowhere()
    return PIPE_CLOSED


def _nowhere() -> TextIO:
    """Where words go that nobody hears; open to the very end."""
    return open(os.devnull, "w", encoding="utf-8")


def _complain(text: str) -> None:
    print(f"streamlanes: {' '.join(text.split())}", file=sys.stderr)
