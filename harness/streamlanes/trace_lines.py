"""The words of `streamlanes durable trace` and `streamlanes durable audit`. Pure."""

import time
from collections.abc import Mapping, Sequence

from streamlanes.durable.audit import BOUNDS_MS, Audit, Latency
from streamlanes.durable.spans import Span, Story
from streamlanes.durable.tracing import SpanKind

MOST_ROWS = 40


def story_lines(story: Story) -> list[str]:
    """A row a span, and what it all comes to."""
    heads = ("began", "took", "what", "attempt", "claim", "owner", "version", "outcome")
    rows = [heads, *map(_row, story.spans)]
    said = _aligned(rows)
    what = f"workflow {story.workflow}" if story.workflow else "agent" if story.agent else "execution"
    taken = f"{story.epochs} wake-ups" if story.agent else f"{story.epochs} claims"
    said += [
        "",
        f"ANSWER  {what} {story.thread_id}: {story.status}, {taken}, last {story.owner or '-'}",
    ]
    if story.broke:
        said.append(f"NOTE    the workflow raised {len(story.broke)} times, at last {story.broke[-1]}")
    if any(span.began_s is None for span in story.spans):
        made = "queue made with trace=Trace(database)" if story.agent else "worker made with traced=True"
        said.append(f"NOTE    times that nobody kept are '-'; a {made} keeps them")
    return said


def audit_lines(audits: Sequence[Audit], found: Mapping[str, Latency]) -> list[str]:
    """A row a step, effect or activity, then what is wrong, then the sum."""
    heads = ("of", "spans", "p50", "p99", "untimed", "retries", "workers lost", "failures")
    shown = list(found.values())[:MOST_ROWS]
    rows = [heads, *map(_latency, shown)]
    said = _aligned(rows)
    if len(found) > len(shown):
        said.append(f"... and {len(found) - len(shown)} more; --json has all")
    wrong = [f"WRONG   {each.thread_id}: {problem}" for each in audits for problem in each.problems]
    doubt = sum(each.in_doubt for each in audits)
    redone = sum(each.redone for each in audits)
    sums = f"{len(audits)} executions, {redone} steps or attempts begun again, {doubt} effects in doubt"
    return [*said, "", *wrong, f"ANSWER  {sums}, {len(wrong)} things that cannot be"]


def bound_ms(latency: Latency, share: float) -> int | None:
    """The bound of the bucket that this share of the timed spans ends in; None where none is timed, or
    they took longer than the last bound."""
    timed = sum(latency.buckets)
    within = 0
    for bound, count in zip(BOUNDS_MS, latency.buckets, strict=False):
        within += count
        if timed and within >= share * timed:
            return int(bound)
    return None


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _row(span: Span) -> tuple[str, ...]:
    step = f"{span.name or 'step'} {span.step}"
    what = {SpanKind.CLAIM: "claim", SpanKind.STEP: step}.get(span.kind, span.name)
    return (
        "-" if span.began_s is None else _clock(span.began_s),
        "-" if span.took_s is None else f"{span.took_s * 1000:,.1f} ms",
        f"{what} {span.key}".rstrip(),
        str(span.attempt) if span.attempt else "",
        str(span.epoch),
        span.owner or "-",
        "-" if span.version is None else str(span.version),
        span.outcome,
    )


def _clock(at_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_s)) + f".{int(at_s * 1000) % 1000:03d}Z"


def _latency(latency: Latency) -> tuple[str, ...]:
    return (
        latency.name,
        f"{latency.spans:,}",
        _bound(latency, 0.5),
        _bound(latency, 0.99),
        f"{latency.untimed:,}",
        f"{latency.retries:,}",
        f"{latency.lost:,}",
        ", ".join(f"{name} {times:,}" for name, times in latency.failures.most_common()) or "-",
    )


def _bound(latency: Latency, share: float) -> str:
    bound = bound_ms(latency, share)
    if bound is not None:
        return f"<= {bound:,} ms"
    return f"> {BOUNDS_MS[-1]:,} ms" if sum(latency.buckets) else "-"
