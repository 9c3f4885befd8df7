"""The record's schema, held by a golden file per version: what others read may not move."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from streamlanes.lanes import lane
from streamlanes.record import SCHEMA, decode, encode

GOLDEN = Path(__file__).parent / "golden" / "cell-1.json"

MEMBERS = ("min", "p50", "p90", "p99", "p999", "max", "early_share", "count")
FIXED = {
    "status": ("name", "reason", "reached"),
    "cell": ("lane", "backend", "client", "workload", "calls", "repetition"),
    "cell.axes": (
        *("seed", "ramp_s", "ttft_ms", "gap_ms", "tokens", "rate_per_s", "time_scale", "trace", "width"),
        *("workers", "start_method", "stack_kib", "switch_ms", "gc", "python", "api", "tls"),
    ),
    "time": (
        *("wall_s", "ideal_wall_s", "overrun_s", "efficiency", "startup_s"),
        *("cpu_us_per_token", "cpu_us_per_call_setup"),
    ),
    **{
        f"latency.{name}": MEMBERS
        for name in (
            *("lateness_ms", "stream_ms", "first_event_ms", "ttft_ms", "first_visible_ms"),
            *("inter_chunk_ms", "e2e_ms"),
            *("start_lag_ms", "provider_ms", "client_ms"),
        )
    },
    "memory": (
        *("fixed_bytes", "per_call_bytes", "peak_rss_bytes", "plateau_pss_bytes", "reserved_bytes"),
        *("thread_stack_reserved_bytes", "thread_stack_resident_bytes", "page_table_bytes"),
        *("kernel_stack_bytes", "kernel_per_call_bytes", "cgroup_peak_bytes"),
    ),
    "counts": (
        *("calls", "ok", "tokens", "attempts", "peak_in_flight", "threads_peak", "fds_peak"),
        *("usage_tokens", "without_usage", "no_sentinel"),
        *("truncated", "reset", "connect_error", "provider_error", "protocol_error", "job_error"),
        *("status_4xx", "status_5xx", "client_timeout", "client_pool_timeout", "cancelled", "unfinished"),
    ),
    "work": ("unit", "done", "per_s", "cpu_us_per_unit"),
}


def golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return found


def at(raw: dict[str, Any], path: str) -> Any:
    for name in path.split("."):
        raw = raw[name]
    return raw


def test_the_golden_record_survives_a_round_trip() -> None:
    again = encode(decode(GOLDEN.read_bytes()))
    assert json.loads(again) == golden()
    assert again.endswith(b"\n")
    assert again.count(b"\n") == 1, "one record is one line"


@pytest.mark.parametrize("group", FIXED)
def test_every_fixed_name_stands_where_others_read_it(group: str) -> None:
    assert set(FIXED[group]) <= set(at(golden(), group))


def test_the_golden_record_is_a_whole_one_of_its_lane() -> None:
    raw = golden()
    assert raw["cell"]["lane"] == "io"
    for metric in lane("io").metrics:
        figure = at(raw, metric.path)
        assert figure is not None or metric.path in raw["missing"]
    for series in raw["latency"].values():
        ranks = [series[name] for name in MEMBERS[:6]]
        assert ranks == sorted(ranks)


def test_every_null_of_the_golden_record_has_a_reason() -> None:
    raw = golden()
    nulls = [
        f"{group}.{name}"
        for group in ("time", "memory", "counts", "work", "gc", "provider")
        for name, value in raw[group].items()
        if value is None
    ]
    assert nulls
    assert set(nulls) <= set(raw["missing"])


def test_figures_are_read_by_path() -> None:
    record = decode(GOLDEN.read_bytes())
    assert record.figure("latency.stream_ms.p99") == golden()["latency"]["stream_ms"]["p99"]
    assert record.figure("cell.axes.stack_kib") == 256
    assert record.figure("cell.calls") == 200
    assert record.figure("memory.per_call_bytes") is None
    assert record.figure("cell.axes.tls") is None, "a yes or no is no number"
    assert not record.clean, "it is flagged client-limited"


def test_another_version_is_refused() -> None:
    raw = golden() | {"schema": "streamlanes.cell/99"}
    with pytest.raises(msgspec.ValidationError, match=SCHEMA):
        decode(json.dumps(raw).encode())


@pytest.mark.parametrize("spoil", [{"surprise": 1}, {"status": {"name": "fine"}}])
def test_unknown_names_are_refused(spoil: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(json.dumps(golden() | spoil).encode())
