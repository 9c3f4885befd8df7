"""The commands that decide, deploy and cap, on a store of their own."""

import json
from pathlib import Path

import pytest

from streamlanes import cli
from streamlanes.durable.effects import Answer, Effect
from streamlanes.durable.errors import Parked
from streamlanes.durable.opening import open_database
from streamlanes.durable.running import Last, Step, Worker, run_with_checkpoint
from streamlanes.named_store import VARIABLE

MANY = "99999999999999999999"
"""More than a column holds."""


class Store:
    """A store in the current folder, and commands on it."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys = capsys
        self.monkeypatch = monkeypatch

    def run(self, name: str, version: int = 1) -> object:
        """One life of an execution that asks once."""

        async def agent(state: object, step: Step) -> object:
            effect = Effect("pay", lambda *_: Answer("paid", 100, 20, 0.5))
            said = await step.propose(effect, {"pay": 10})
            return Last([said.approved, said.by, said.note])

        database = open_database("agents.db")
        worker = Worker(database, version=version)
        try:
            return run_with_checkpoint(agent, name, worker)
        except Parked:
            return "parked"
        finally:
            worker.close()
            database.close()

    def said(self, *args: str) -> tuple[int, str, str]:
        """A command's exit code and words."""
        self.monkeypatch.setattr("sys.argv", ["streamlanes", "durable", *args])
        with pytest.raises(SystemExit) as over:
            cli.main()
        out, err = self.capsys.readouterr()
        return int(over.value.code or 0), out, err

    def records(self, *args: str) -> list[dict[str, object]]:
        """What a command says in JSON."""
        code, out, err = self.said(*args, "--json")
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    return Store(capsys, monkeypatch)


def test_an_approval_by_command_is_what_the_execution_gets(store: Store):
    assert store.run("a") == "parked"
    (waiting,) = store.records("pending")
    assert (waiting["id"], waiting["proposal"], waiting["status"]) == ("a/0/0", {"pay": 10}, "pending")
    code, out, _ = store.said("approve", "a/0/0", "--by", "Ada", "--note", "fine")
    assert (code, out) == (0, "approved a/0/0 (fine): execution a goes on as soon as a worker claims it\n")
    assert store.run("a") == [True, "Ada", "fine"]
    assert store.said("pending") == (0, "nothing waits for a person\n", "")


def test_a_rejection_by_command(store: Store):
    store.run("a")
    (rejected,) = store.records("reject", "a/0/0", "--by", "Ada")
    assert rejected["status"] == "rejected"
    assert store.run("a") == [False, "Ada", ""]


def test_who_decides_is_who_is_there(store: Store):
    store.monkeypatch.setattr("getpass.getuser", lambda: "ada")
    store.run("a")
    assert store.records("approve", "a/0/0")[0]["decided_by"] == "ada"

    def nobody() -> str:
        raise KeyError("no name for uid 12345")

    store.monkeypatch.setattr("getpass.getuser", nobody)
    store.run("b")
    assert store.records("approve", "b/0/0")[0]["decided_by"] == ""


def test_versions_are_shown_and_shared(store: Store):
    store.run("a")
    code, out, _ = store.said("versions", "--share", "1=0.5,2=0.5")
    assert code == 0
    assert "a permanent split" in out
    (old, new) = store.records("versions", "--share", "2=1")
    assert (old["phase"], old["parked"], new["share"]) == ("draining", 1, 1.0)
    assert "nobody knows for how long" in str(old["why"])


def test_a_cap_is_set_shown_and_lifted(store: Store):
    store.run("a")
    store.said("approve", "a/0/0")
    store.run("a")
    assert store.said("cap") == (0, "no cap is set\n", "")
    (cap,) = store.records("cap", "--tokens", "100", "--usd", "2")
    assert (cap["tokens"], cap["usd"], cap["reached"]) == (120, 0.5, True)
    assert "REACHED" in store.said("cap", "--execution", "a", "--usd", "0.1")[1]
    assert [each["scope"] for each in store.records("cap", "--lift")] == ["a"]


@pytest.mark.parametrize("where", ["--db", VARIABLE])
def test_the_store_is_named_by_option_or_variable(store: Store, where: str):
    store.run("a")
    Path("agents.db").rename("elsewhere.db")
    if where == VARIABLE:
        store.monkeypatch.setenv(VARIABLE, "elsewhere.db")
        assert len(store.records("pending")) == 1
    else:
        assert len(store.records("pending", "--db", "elsewhere.db")) == 1


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ["approve", "a/0/1"],
            "it has no request 'a/0/1'; list those that wait with `streamlanes durable pending`",
        ),
        (["approve", "a/0/1"], "did you mean 'a/0/0'?"),
        (["reject", "done/0/0"], "execution done: request done/0/0 was approved before, by Ada, "),
        (["approve", "done/0/0", "--by", "Ada"], "nothing was changed"),
        (["approve"], "REQUEST"),
        (["versions", "--share", "1"], "--share has '1'; give VERSION=SHARE"),
        (["versions", "--share", "1=0.5"], "add up to 0.5"),
        (["versions", "--share", "1=2"], "version 1 cannot have a share of 2"),
        (["cap", "--lift", "--tokens", "1"], "give one of the two"),
        (["cap", "--tokens", "-1"], "tokens"),
        (["cap", "--usd", "nan"], "--usd"),
        (["cap", "--tokens", MANY], f"no cap can be {MANY} tokens"),
        (["cap", "--tokens", "0", "--execution", "b"], "no execution 'b' in agents.db; list all with"),
        (["cap", "--lift", "--execution", "b"], "no execution 'b' in agents.db"),
        (["cap", "--tokens", "0", "--execution", ""], "'' is no thread_id"),
        (
            ["versions", "--share", f"{MANY}=1"],
            f"version {MANY} cannot have a share of 1; number versions from 1 to",
        ),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_lost(store: Store, args: list[str], says: str):
    store.run("done")
    store.records("approve", "done/0/0", "--by", "Ada")
    store.run("done")
    store.run("a")
    before = store.records("pending"), store.records("versions"), store.records("cap")
    code, out, err = store.said(*args)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert says in err
    assert (store.records("pending"), store.records("versions"), store.records("cap")) == before


def test_text_that_is_not_utf_8_is_one_line(store: Store):
    store.run("a")
    before = store.records("pending")
    for args in (
        ["approve"],
        ["approve", "a/0/0", "--note"],
        ["reject", "a/0/0", "--by"],
        ["trace"],
        ["audit"],
        ["export"],
        ["pending", "--schema"],
    ):
        said = store.said(*args, "\udcff")
        assert said == (2, "", "streamlanes: '\\udcff' is not UTF-8; a store keeps nothing else\n"), args
    assert store.records("pending") == before


def test_a_file_that_is_no_store_is_named(store: Store):
    Path("agents.db").write_text("this is a text, and longer than a header of a database would be. " * 20)
    code, _, err = store.said("pending")
    assert (code, err.count("\n")) == (2, 1)
    assert "agents.db is damaged" in err
