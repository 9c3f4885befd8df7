"""Makes azure_2023.py from the two traces: `python -m streamlanes.workload.fitting FOLDER`.

FOLDER holds azure-2023-conv.csv and azure-2023-code.csv, as the Azure Public Dataset publishes them.
What is kept is what the workloads need: quantiles of the answers' lengths, mean and spread of the gaps
between requests, and for `code` a sample of its gaps in order.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from streamlanes.workload.draws import SHARES, Floats
from streamlanes.workload.gaps import LEVELS, level_of
from streamlanes.workload.trace import Trace, parse

BLOCK_GAPS = 100
"""Gaps of one block: long enough for a burst with the silence before it, short enough to leave many."""
EVERY = 2
"""Of the trace's blocks every second one is kept; their spread is that of all (CV 13.2 against 13.2)."""

_WIDTH = 105


def token_quantiles(trace: Trace) -> list[int]:
    """The answers' lengths at SHARES: each is a length that occurred."""
    return [int(each) for each in np.quantile(trace.tokens, SHARES, method="inverted_cdf")]


def gap_blocks(trace: Trace) -> list[str]:
    """Gaps in units of their mean, in order, a letter for each (see gaps.LEVELS), in lines of one block."""
    gaps = gaps_s(trace)
    whole = len(gaps) // BLOCK_GAPS
    blocks = (gaps / gaps.mean())[: whole * BLOCK_GAPS].reshape(whole, BLOCK_GAPS)
    return ["".join(LEVELS[level_of(gap)] for gap in block) for block in blocks[::EVERY]]


def gaps_s(trace: Trace) -> Floats:
    """Between consecutive requests."""
    gaps: Floats = np.diff(trace.at_ns) / 1e9
    return gaps


def module(chat: Trace, code: Trace) -> str:
    """The text of azure_2023.py."""
    return "\n".join(
        [
            '"""Facts of two public traces, made by fitting.py and not by hand.',
            "",
            "Source: Azure Public Dataset, AzureLLMInferenceTrace 2023 (CC-BY), Splitwise, ISCA 2024.",
            'Quantiles are of generated tokens a request, at draws.SHARES; letters are gaps.LEVELS."""',
            "",
            *_facts("CHAT", "conversation", chat),
            "",
            *_facts("CODE", "code", code),
            "",
            "CODE_GAP_BLOCKS = (",
            *(f'    "{block}",' for block in gap_blocks(code)),
            ")",
            "",
        ]
    )


def _facts(name: str, words: str, trace: Trace) -> Iterator[str]:
    gaps = gaps_s(trace)
    yield f"# The {words} trace: {trace.requests:,} requests in {trace.span_s:,.0f} s."
    yield f"{name}_MEAN_GAP_S = {gaps.mean():.5f}"
    yield f"{name}_GAP_CV = {gaps.std() / gaps.mean():.3f}"
    yield f"{name}_TOKENS = ("
    line = "   "
    for each in token_quantiles(trace):
        if len(line) + len(f" {each},") > _WIDTH:
            yield line
            line = "   "
        line += f" {each},"
    yield line
    yield ")  # fmt: skip"


def main() -> None:
    """Write azure_2023.py anew."""
    folder = Path(sys.argv[1])
    traces = [
        parse((folder / f"azure-2023-{name}.csv").read_text(encoding="utf-8").split("\n"), name)
        for name in ("conv", "code")
    ]
    Path(__file__).with_name("azure_2023.py").write_text(module(*traces), encoding="utf-8")


if __name__ == "__main__":
    main()
