"""The methodology says what the code does, with its figures."""

import re

import numpy as np
import pytest

from doc_pages import flowing, text
from facts_made import facts, schedule, timed
from streamlanes import cells, flags, knee, meanings, metrics, process, search
from streamlanes.clients.base import ON_TIME_NS
from streamlanes.lanes import lane
from streamlanes.metrics import Calls
from streamlanes.record import FlagName


@pytest.mark.parametrize(
    "sentence",
    [
        f"above {meanings.percent(flags.CLIENT_SHARE)} of a core",
        f"p99 above {flags.PROVIDER_P99_MS:g} ms and above {meanings.percent(flags.PROVIDER_OF_LATENESS)}",
        f"provider CPU above {meanings.percent(flags.PROVIDER_CPU_SHARE)}",
        f"held for {meanings.percent(flags.FLAT_SHARE)} of the time",
        f"reached {flags.REACHED_AGAIN} times or more",
        f"steal above {meanings.percent(flags.FOREIGN_SHARE)}",
        f"differs by more than {meanings.percent(flags.SPIN_DRIFT)}",
        f"within {ON_TIME_NS / 1e6:g} ms of its intended start",
        f"below {flags.GRAINS} grains",
        f"more than {meanings.percent(flags.BUFFERED_SHARE)} of the tokens",
        f"sent {flags.APART_MS:g} ms or more after",
        f"process used {meanings.percent(flags.READER_SHARE)} of a core or less",
        f"within a bound, {search.BOUND_MS:g} ms unless set",
        f"no more than {knee.RESOLUTION:.2f} times the first",
        f"within a factor of {knee.NEAR:g}",
        f"after {search.MOST_CELLS} cells",
        f"at most {search.MOST_PER_S:,} in all",
        f"every {process.READING_S * 1000:g} ms",
        f"origin, {process.LEAD_NS / 1e6:g} ms ahead",
        f"waits {process.SETTLE_S:g} s more",
        f"less than {metrics.MIN_PLATEAU_S:g} s left",
        f"fit {meanings.percent(cells.ADMIT_SHARE)} of it",
        f"its ideal wall and {lane('io').extra_s:g} s",
    ],
)
def test_methodology_says_the_thresholds_of_the_code(sentence: str):
    assert sentence in flowing("methodology.md")


@pytest.mark.parametrize("name", FlagName)
def test_methodology_explains_every_flag(name: FlagName):
    assert f"| `{name}` |" in text("methodology.md")


def test_the_worked_example_is_what_the_code_computes():
    page = text("methodology.md")
    rows = re.findall(r"^\| [^|]*\| [\d.]+ \| (\w+) \| ([\d.]+) \|$", page, re.MULTILINE)
    parts = {name: float(ms) for name, ms in rows}
    plan = schedule(2, tokens=3.0)
    calls = Calls(facts(plan, timed=timed(plan, **{f"{name}_ms": ms for name, ms in parts.items()})))
    assert set(parts) == {"queue", "connect", "accept", "provider", "client"}
    late, lag, stream = calls.lateness_ms[0], calls.start_lag_ms[0], calls.stream_ms[0]
    said = f"= {late:.1f} = {lag:.1f} (start lag) + {parts['provider']:g} + {parts['client']:g}"
    assert said in flowing("methodology.md")
    assert f"without the start lag: {stream:.1f} in the example" in flowing("methodology.md")
    assert np.ptp(calls.lateness_ms) < 1e-9
