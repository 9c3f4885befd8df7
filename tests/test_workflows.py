"""What runs on the hosted machines: parsed, and the step that decides carried out here with a stand-in."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parent.parent / ".github" / "workflows"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yml"))}
WORKFLOWS: dict[str, dict[str, Any]] = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
STEPS: list[dict[str, Any]] = WORKFLOWS["bench"]["jobs"]["quick"]["steps"]


def place(wanted: str) -> int:
    """Where the one step stands that runs or uses this."""
    (found,) = [at for at, step in enumerate(STEPS) if wanted in f"{step.get('run')} {step.get('uses')}"]
    return found


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_read_and_nothing_else(name: str):
    workflow, text = WORKFLOWS[name], TEXTS[name]
    assert workflow["permissions"] == {"contents": "read"}
    assert "permissions" not in {key for job in workflow["jobs"].values() for key in job}
    assert "secrets" not in text
    assert "github.token" not in text
    assert "pull_request_target" not in text


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_and_leave_no_credentials_behind(name: str):
    steps = [step for job in WORKFLOWS[name]["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    assert used
    assert [each for each in used if not re.fullmatch(r"actions/[\w-]+@(v\d+|[0-9a-f]{40})", each)] == []
    (checkout,) = [step for step in steps if "actions/checkout" in step.get("uses", "")]
    assert checkout["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_job_has_an_end(name: str):
    assert all(5 <= job["timeout-minutes"] <= 60 for job in WORKFLOWS[name]["jobs"].values())


def test_a_slow_machine_has_time_for_the_tests_and_the_job_for_its_steps():
    job = WORKFLOWS["ci"]["jobs"]["check"]
    limits = {step["run"]: step["timeout-minutes"] for step in job["steps"] if "run" in step}
    readme = (FOLDER.parent.parent / "README.md").read_text(encoding="utf-8")
    usual = re.search(r"^make test .* about (\d+) minutes$", readme, re.MULTILINE)
    assert usual is not None
    assert limits["make test"] >= 1.5 * int(usual[1]), "the README says how long they take"
    assert job["timeout-minutes"] > sum(limits.values())


def test_bench_runs_on_every_push_and_pull_request():
    triggers = WORKFLOWS["bench"][True]  # YAML reads the key `on` as a truth
    assert triggers["push"] == {"branches": ["main"]}
    assert {"pull_request", "workflow_dispatch"} <= set(triggers)


def test_bench_measures_then_gates_then_keeps_the_charts_whatever_the_gate_says():
    assert place("make bench") < place("streamlanes gate") < place("upload-artifact")
    assert STEPS[place("make bench")]["run"] == "make bench"
    keep = STEPS[place("upload-artifact")]
    assert keep["if"] == "always()"
    assert keep["with"]["path"] == "results/runs/*/", "each run's folder: its records and its report/"
    assert not any("continue-on-error" in step for step in STEPS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(("verdict", "ends"), [(0, 0), (3, 0), (1, 1), (2, 1), (127, 1)])
def test_the_gate_step_fails_on_a_breach_only_and_always_writes_the_summary(
    verdict: int, ends: int, tmp_path: Path
):
    streamlanes = tmp_path / ".venv" / "bin" / "streamlanes"
    streamlanes.parent.mkdir(parents=True)
    streamlanes.write_text(
        f'#!/bin/sh\ncase "$*" in gate) echo GATE said; exit {verdict};; '
        "'report --text') echo ANSWER said;; *) exit 9;; esac\n"
    )
    streamlanes.chmod(0o755)
    step = STEPS[place("streamlanes gate")]
    (tmp_path / "step.sh").write_text(step["run"])
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    done = subprocess.run(
        [word.replace("{0}", "step.sh") for word in shlex.split(step["shell"])],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "GITHUB_STEP_SUMMARY": str(summary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (ends, "")
    assert "GATE said" in done.stdout
    fence = "```"
    assert summary.read_text().split("\n") == [
        *("before", "### Gate", fence, "GATE said", fence, "### Answer", fence, "ANSWER said", fence, "")
    ]
