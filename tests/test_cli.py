"""The command line's manners: one line for a mistake, the documented exit code, quick help."""

from pathlib import Path

import pytest

from streamlanes import cli


def call(
    args: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["streamlanes", *args.split()])
    with pytest.raises(SystemExit) as over:
        cli.main()
    out, err = capsys.readouterr()
    return int(over.value.code or 0), out, err


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ("run -b asynco", "asyncio"),
        ("run -c stream", "streams"),
        ("run --lane oi", "io"),
        ("run -w stedy", "steady"),
        ("run --set widht=3", "width"),
        ("run --set width=0", "width"),
        ("run --set width", "axis=value"),
        ("run --set tokens=x", "tokens"),
        ("run --set start_method=teleport -b processes+asyncio", "start_method"),
        ("run -n 0", "calls is 0"),
        ("run -n -5", "calls is -5"),
        ("run -n many", "many"),
        ("run -b ,", "empty"),
        ("run quik", "quick"),
        ("run ./nowhere.toml", "nowhere.toml"),
        ("run --repeats 0", "repeats"),
        ("run --budget-s 0 -n 5", "budget_s"),
        ("run --budget-s x", "budget"),
        ("run --out /proc/nowhere -n 5 -b asyncio -c timer", "/proc/nowhere"),
        ("run --teleport", "teleport"),
        ("report nowhere", "nowhere"),
        ("gate nowhere", "nowhere"),
        ("gate --thresholds nowhere.toml", "run"),
        ("provider --port 99999", "port"),
        ("provider -w stedy", "steady"),
        ("provider --set tokens=0", "tokens"),
        ("doctor -b thread", "threads"),
        ("doctor -c stream", "streams"),
        ("doctor -n 0", "calls"),
        ("doctor -n many", "integer"),
        ("doctor -n 99999999", "more than"),
        ("doctor --teleport", "teleport"),
        ("provider --set tokens=1,2", "tokens"),
        ("provider --set width=1", "width"),
        ("provider --profile ./nowhere.toml", "nowhere.toml"),
        ("provider --tls-port 99999", "tls-port"),
        ("run --set tls=maybe", "tls"),
        ("run --set gaps=./nowhere.txt", "nowhere.txt"),
        ("run --set gap_ms=5^0.5", "tail"),
        ("run --set gap_ms=5 --set rate_per_s=100", "leave one out"),
        ("fly", "fly"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(args, word, capsys, monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(args, capsys, monkeypatch)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("streamlanes: ")
    assert word in err
    assert not (tmp_path / "results").exists(), "nothing was begun"


def test_a_taken_port_is_exit_2(capsys, monkeypatch):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = call(f"provider --port {taken.getsockname()[1]}", capsys, monkeypatch)
    assert code == 2
    assert "cannot listen" in err
    assert err.count("\n") == 1


def test_every_command_has_help(capsys, monkeypatch):
    code, out, _ = call("--help", capsys, monkeypatch)
    assert code == 0
    for command in ("run", "report", "gate", "doctor", "provider"):
        assert command in out
        code, text, _ = call(f"{command} --help", capsys, monkeypatch)
        assert code == 0
        assert len(text.strip().splitlines()) > 3


def test_every_option_of_the_doctor_is_in_its_page():
    import typer.main

    page = (Path(__file__).parent.parent / "docs/doctor.md").read_text(encoding="utf-8")
    command = typer.main.get_command(cli.app).commands["doctor"]
    options = [name for parameter in command.params for name in parameter.opts]
    assert len(options) > 4
    assert [name for name in options if f"`{name}`" not in page] == []


def test_help_loads_nothing_heavy():
    import subprocess
    import sys

    program = (
        "import sys; sys.argv = ['streamlanes', '--help']\n"
        "from streamlanes.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('numpy', 'pandas', 'matplotlib', 'msgspec', 'uvloop') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[provider]\ntokens_per_chunk = 0\n", "tokens_per_chunk is 0"),
        ("[provider.faults]\nrest = 0.1\n", "unknown fault 'rest'; did you mean 'reset'?"),
        ("[provider]\nfaults = 3\n", "faults"),
        ("[provider]\nstall = 3\n", "stall_ms"),
        ("[provider\n", "p.toml"),
        ("[workload]\ntokens = 0\n", "tokens"),
    ],
)
def test_a_profile_that_the_provider_cannot_follow_is_exit_2(text, word, capsys, monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(text)
    code, out, err = call("provider --port 0 --profile p.toml", capsys, monkeypatch)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert word in err
