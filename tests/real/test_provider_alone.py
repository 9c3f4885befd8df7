"""`streamlanes provider` as a person starts it: its addresses, its certificate, its profile, its end."""

import json
import signal
import ssl
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import end, started
from streamlanes.provider.faults import Fault, fault_of

PROFILE = """
[workload]
ttft_ms = 1
gap_ms = 1
tokens = 4
[provider]
tokens_per_chunk = 2
[provider.faults]
status-429-retry-after = 0.3
no-done = 0.3
"""
SHARES = {Fault.STATUS_429_RETRY_AFTER: 0.3, Fault.NO_DONE: 0.3}
BODY = {"stream": True, "messages": [{"role": "user", "content": "hi"}]}
CALLS = 12


@pytest.fixture
def addresses(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Where it listens, and the certificate; it must end with 0 and leave nothing."""
    (tmp_path / "p.toml").write_text(PROFILE)
    process = started("provider", "--port", "0", "--profile", "p.toml", cwd=tmp_path)
    assert process.stdout
    lines = [process.stdout.readline().strip() for _ in range(5)]
    found = dict(zip(("chat", "messages", "tls_chat", "tls_messages"), lines, strict=False))
    found["certificate"] = lines[4].removeprefix("certificate to trust: ")
    yield found
    code, errors = end(process, signal.SIGTERM)
    assert (code, errors) == (0, "")
    assert not Path(found["certificate"]).exists()


def test_it_answers_in_both_dialects_plain_and_over_tls_as_its_profile_says(addresses: dict[str, str]):
    context = ssl.create_default_context(cafile=addresses["certificate"])
    ends: Counter[str] = Counter()
    for k in range(CALLS):
        name = ("chat", "messages", "tls_chat", "tls_messages")[k % 4]
        request = urllib.request.Request(addresses[name], json.dumps(BODY).encode())
        tls = context if name.startswith("tls") else None
        try:
            with urllib.request.urlopen(request, timeout=30, context=tls) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                ends[f"{error.code} {error.headers['Retry-After']}"] += 1
            continue
        assert text.count('"text":" ') + text.count('"content":" ') == 2, "two chunks of two tokens"
        ends["done" if "[DONE]" in text or "message_stop" in text else "no done"] += 1
    faults = Counter(fault_of(1, call, SHARES) for call in range(CALLS))
    assert ends == {
        "429 1": faults[Fault.STATUS_429_RETRY_AFTER],
        "no done": faults[Fault.NO_DONE],
        "done": faults[None],
    }
