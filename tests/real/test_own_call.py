"""People's own functions, really run: the examples of the docs, and those that go wrong."""

import os
from pathlib import Path

import pytest

from commands import left_behind, records, run

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
CALLS, TOKENS, TTFT_MS, GAP_MS = 6, 4, 20, 10

HEAD = f"""
[workload]
ttft_ms = {TTFT_MS}
gap_ms = {GAP_MS}
tokens = {TOKENS}
[run]
"""


def cells(call: str, *backends: str, more: str = "") -> str:
    return (
        f'[[cells]]\nclient = "call"\ncall = "{call}"\nbackends = {list(backends)}\n'
        f'workload = "lesson"\ncalls = [{CALLS}]\n{more}\n'
    )


def measured(folder: Path, *tables: str, run_table: str = "memory = false\n") -> dict[tuple[str, str], dict]:
    """The records of a profile of these cells, by function and backend."""
    (folder / "own.toml").write_text(HEAD + run_table + "".join(tables))
    done = run("run", "./own.toml", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert left_behind(folder) == []
    return {(each["cell"]["call"], each["cell"]["backend"]): each for each in records(done)}


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    path = [str(EXAMPLES), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))


def test_the_examples_run_under_what_fits_them_and_every_token_is_accounted_for(
    tmp_path: Path, examples: None
):
    found = measured(
        tmp_path,
        cells("own_call:answer", "asyncio"),
        cells("own_agent:step", "uvloop"),
        cells("own_blocking:answer", "threads", "asyncio"),
        cells("own_blocking:whole", "asyncio+to_thread", more="set = { width = 3 }"),
        cells("own_blocking:answer", "process-pool", more="set = { start_method = 'spawn', width = 2 }"),
        cells("own_call:answer", "processes+asyncio", more="set = { workers = 2 }"),
    )
    misfit = found.pop(("own_blocking:answer", "asyncio"))
    assert misfit["status"]["name"] == "unsupported"
    assert "own_blocking:answer is a plain generator, which asyncio cannot run" in misfit["status"]["reason"]
    assert len(found) == 6
    for (call, backend), made in found.items():
        counts = made["counts"]
        assert made["status"]["name"] == "ok", made["status"]
        assert made["errors"] == {}
        assert counts["ok"] == counts["calls"] == CALLS
        assert counts["tokens"] == CALLS * TOKENS
        assert counts["lost_tokens"] == counts["extra_tokens"] == counts["untraced"] == 0
        assert counts["attempts"] == CALLS * (2 if call == "own_agent:step" else 1)
        assert made["provider"]["unmarked"] == 0
        assert made["latency"]["stream_ms"]["count"] == CALLS * TOKENS
        assert made["latency"]["client_ms"]["min"] > 0, "nothing is received before it is sent"
        assert made["latency"]["connect_ms"]["p50"] is None
        assert made["cell"]["id"].startswith(f"io/{backend}/call/lesson/{CALLS}/call={call}/")
    pool = found["own_blocking:answer", "process-pool"]["cell"]["axes"]
    assert (pool["start_method"], pool["width"]) == ("spawn", 2), "a worker finds the function by its name"
    assert found["own_call:answer", "processes+asyncio"]["cell"]["axes"]["workers"] == 2
    step = found["own_agent:step", "uvloop"]
    planning_ms = TTFT_MS + GAP_MS * (TOKENS - 1)
    assert step["latency"]["start_lag_ms"]["min"] >= planning_ms, "what came before the answer's request"
    whole = found["own_blocking:whole", "asyncio+to_thread"]["latency"]["inter_chunk_ms"]
    assert whole["max"] == 0, "what is returned is stamped at its end"


BAD = """
import asyncio, json, time, urllib.request

def asked(base_url, prompt):
    body = json.dumps({"model": "sim", "stream": True, "messages": [{"role": "user", "content": prompt}]})
    with urllib.request.urlopen(base_url + "/v1/chat/completions", body.encode()) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                yield json.loads(line[6:])["choices"][0]["delta"].get("content") or ""

async def raises(base_url, prompt):
    raise LookupError("no such model: " + __file__)
    yield ""

async def blocks(base_url, prompt):
    for piece in asked(base_url, prompt):
        time.sleep(0.05)
        await asyncio.sleep(0)
        yield piece

def unmarked(base_url, prompt):
    yield from asked(base_url, "Say something.")

def twice(base_url, prompt):
    yield from asked(base_url, prompt)
    list(asked(base_url, prompt))

def never(base_url, prompt):
    threading = __import__("threading")
    threading.Thread(target=time.sleep, args=(600,)).start()
    yield next(piece for piece in asked(base_url, prompt) if piece)
    time.sleep(600)
"""


def test_what_goes_wrong_is_named_and_leaves_nothing_behind(tmp_path: Path):
    (tmp_path / "bad.py").write_text(BAD)
    found = measured(
        tmp_path,
        cells("bad:raises", "asyncio"),
        cells("bad:blocks", "uvloop"),
        cells("bad:unmarked", "threads"),
        cells("bad:twice", "thread-pool", more=f"set = {{ width = {CALLS} }}"),
        cells("bad:never", "threads"),
        run_table="memory = false\nbudget_s = 2\n",
    )
    raises = found["bad:raises", "asyncio"]
    assert raises["status"]["name"] == "ok"
    assert raises["counts"]["job_error"] == CALLS
    assert raises["errors"] == {"LookupError": {"count": CALLS, "message": "no such model: bad.py"}}
    assert [flag["name"] for flag in raises["flags"] if flag["name"] == "failed-calls"]

    blocks = found["bad:blocks", "uvloop"]
    assert blocks["counts"]["ok"] + blocks["counts"]["unfinished"] == CALLS
    assert blocks["errors"]["EventLoopBlocked"]["count"] >= 1

    unmarked = found["bad:unmarked", "threads"]
    assert unmarked["counts"]["ok"] == unmarked["counts"]["untraced"] == CALLS
    assert unmarked["provider"]["unmarked"] == unmarked["counts"]["attempts"] == CALLS
    assert unmarked["latency"]["stream_ms"]["p99"] is None
    assert "mark" in unmarked["missing"]["latency.stream_ms.p99"]
    assert unmarked["latency"]["e2e_ms"]["count"] == CALLS

    twice = found["bad:twice", "thread-pool"]
    assert twice["counts"]["untraced"] == CALLS, "its tokens came before the last request was sent them"
    assert twice["counts"]["attempts"] == 2 * CALLS
    assert twice["latency"]["client_ms"]["p50"] is None

    never = found["bad:never", "threads"]
    assert never["status"]["name"] == "over_budget"
    assert never["counts"]["unfinished"] == CALLS
    assert never["counts"]["tokens"] == CALLS


def test_memory_is_read_though_a_function_gives_nothing_before_its_end(tmp_path: Path):
    (tmp_path / "bad.py").write_text(
        BAD + "\ndef whole(base_url, prompt): return ''.join(asked(base_url, prompt))\n"
    )
    found = measured(tmp_path, cells("bad:whole", "threads"), run_table="memory = true\n")
    memory = found["bad:whole", "threads"]["memory"]
    assert memory["held_calls"] == CALLS
    assert memory["per_call_bytes"] > 0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("nowhere:answer", "call nowhere:answer: ModuleNotFoundError: No module named 'nowhere'; its module"),
        ("nowhere.py:answer", "such as agent:answer"),
    ],
)
def test_a_function_that_is_not_there_is_one_line(tmp_path: Path, call: str, says: str):
    done = run("run", "--call", call, "-n", "2", cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()
