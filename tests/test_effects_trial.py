"""Trying someone's own endpoint: what its ledger proves, and what it does not."""

import json
from collections import Counter
from collections.abc import Mapping

import pytest
from typer.testing import CliRunner

from streamlanes import effects_trial
from streamlanes.durable.posting import MAX_ANSWER_BYTES, Refused
from streamlanes.durable_cli import app

URL, LEDGER = "http://mine/pay", "http://mine/ledger"


class Endpoint:
    """Someone's own, as a caller sees it: it does what it is told each time, unless it knows keys.

    breaks: whether an answer is lost after its effect; by how often the key came.
    """

    def __init__(self, *, knows_keys: bool = False, breaks: Mapping[int, bool] | None = None) -> None:
        self.happened: Counter[str] = Counter()
        self.came: Counter[str] = Counter()
        self.knows_keys = knows_keys
        self.breaks = breaks or {}
        self.ledger: str | None = None

    def post(self, url: str, body: object, key: str) -> str:
        self.came[key] += 1
        if not (self.knows_keys and self.happened[key]):
            self.happened[key] += 1
        if self.breaks.get(self.came[key], False):
            raise ConnectionResetError
        return f"{key} {self.happened[key]}"

    def get(self, url: str, most_bytes: int = MAX_ANSWER_BYTES) -> str | None:
        text = json.dumps(self.happened) if self.ledger is None else self.ledger
        if url != LEDGER or len(text) > most_bytes:
            raise Refused(f"{url} answered 500")
        return text

    def __enter__(self) -> "Endpoint":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is kept."""


def tried(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, ledger: str | None = LEDGER, calls: int = 10
) -> effects_trial.Foreign:
    monkeypatch.setattr(effects_trial, "Caller", lambda: endpoint)
    return effects_trial.run_against(URL, calls, ledger)


def test_an_endpoint_that_knows_keys_is_clean_and_one_that_does_not_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
):
    clean = tried(Endpoint(knows_keys=True), monkeypatch)
    assert (clean.ok, clean.differing, clean.duplicated, clean.why_not_counted) == (10, 0, 0, None)
    naive = tried(Endpoint(), monkeypatch)
    assert (naive.ok, naive.differing, naive.duplicated) == (10, 10, 10)


@pytest.mark.parametrize("ledger", ["{}", '{"somebody": 7}'])
def test_a_ledger_without_the_keys_proves_nothing(monkeypatch: pytest.MonkeyPatch, ledger: str):
    endpoint = Endpoint()
    endpoint.ledger = ledger
    found = tried(endpoint, monkeypatch)
    assert found.duplicated is None
    assert f"{LEDGER} does not have 10 of the keys that were answered, try-" in str(found.why_not_counted)
    done = CliRunner().invoke(app, ["effects", "-n", "10", "--url", URL, "--ledger", LEDGER])
    assert done.exit_code == 3, "no proof is no pass"
    assert "duplicated   unknown" in done.output


def test_keys_whose_answer_was_lost_are_counted_too(monkeypatch: pytest.MonkeyPatch):
    """They are the likeliest to be there twice."""
    lost = dict.fromkeys(range(2, 2 + effects_trial.ATTEMPTS), True)
    found = tried(Endpoint(breaks=lost), monkeypatch)
    assert (found.ok, found.duplicated) == (0, 10 * effects_trial.ATTEMPTS)


def test_a_key_that_nobody_ever_answered_may_have_had_no_effect(monkeypatch: pytest.MonkeyPatch):
    endpoint = Endpoint(knows_keys=True)
    monkeypatch.setattr(endpoint, "post", lambda *_: (_ for _ in ()).throw(Refused("500")))
    assert (tried(endpoint, monkeypatch).duplicated, endpoint.happened.total()) == (0, 0)


def test_a_ledger_has_room_for_every_key_that_was_sent(monkeypatch: pytest.MonkeyPatch):
    endpoint = Endpoint(knows_keys=True)
    monkeypatch.setattr(
        endpoint, "get", lambda url, most: json.dumps({**endpoint.happened, "x" * MAX_ANSWER_BYTES: 1})[:most]
    )
    assert tried(endpoint, monkeypatch).duplicated == 0


def test_a_ledger_that_is_none_is_told_from_one_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch):
    endpoint = Endpoint()
    for text in ("[]", "nonsense", '{"a": "b"}', "null"):
        endpoint.ledger = text
        found = tried(endpoint, monkeypatch)
        assert found.why_not_counted == f"{LEDGER} does not answer with a JSON object of counts by key"
    why = tried(endpoint, monkeypatch, "http://mine/other").why_not_counted
    assert why == "the ledger cannot be read (http://mine/other answered 500)"
    assert "no ledger was named" in str(tried(endpoint, monkeypatch, None).why_not_counted)
