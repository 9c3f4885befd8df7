"""A recorded trace: when real requests came and how many tokens each was answered with.

Two formats, told apart by the first line: CSV with the columns `TIMESTAMP,ContextTokens,GeneratedTokens`
(the Azure Public Dataset's), and one JSON object a line with `timestamp` in milliseconds, `input_length`
and `output_length` (Mooncake's); other columns and keys are not looked at. Pure: lines in, requests out;
`streamlanes.traces` reads the file.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import numpy as np

from streamlanes.errors import UserError
from streamlanes.workload.schedule import Ns

COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
MOST_TOKENS = 100_000
"""Of one request: more than any model answers with."""
MOST_S = 1e9
"""From the first request to the last: nanoseconds of thirty years fit into 64 bits."""

_TIED_SHARE = 0.05
_REGULAR_SHARE = 0.9
_JITTER_STREAM = 5  # of a seed's random streams; build() has the first five

_Row = tuple[int, int]
"""Nanoseconds of a clock that starts anywhere, and tokens."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """Requests in order of time.

    name: what records call the trace. at_ns: from the first request. tokens: of each answer.
    tick_ns: the grain its clock was read with, 0 where it shows none.
    """

    name: str
    at_ns: Ns
    tokens: Ns
    tick_ns: int = 0

    @property
    def requests(self) -> int:
        """How many there are."""
        return len(self.at_ns)

    @property
    def span_s(self) -> float:
        """From the first to the last."""
        return float(self.at_ns[-1]) / 1e9

    def head(self, requests: int) -> "Trace":
        """The first `requests` alone. Raises UserError where there are fewer."""
        if requests > self.requests:
            raise UserError(
                f"trace {self.name} has {self.requests:,} requests, fewer than the {requests:,} calls asked "
                f"for; -n {self.requests} takes all"
            )
        return replace(self, at_ns=self.at_ns[:requests], tokens=self.tokens[:requests])

    def spread(self, seed: int) -> "Trace":
        """Requests of one tick spread over it, each at a seeded moment: sent as they were written
        down they would come all at once, in bursts that never were."""
        if not self.tick_ns:
            return self
        rng = np.random.default_rng([seed, _JITTER_STREAM])
        at_ns = self.at_ns + rng.integers(0, self.tick_ns, self.requests)
        order = np.argsort(at_ns, kind="stable")
        return replace(self, at_ns=at_ns[order] - at_ns[order[0]], tokens=self.tokens[order], tick_ns=0)


def parse(lines: Iterable[str], source: str, name: str | None = None) -> Trace:
    """The trace in these lines; blank ones are passed over.

    source: the file, named in errors. Raises UserError, with the line, for a row that is broken,
    negative or before the one above it, and for a trace without requests.
    """
    times: list[int] = []
    tokens: list[int] = []
    above = 0
    for number, (at_ns, count) in _rows(lines, source):
        if times and at_ns < times[-1]:
            raise UserError(
                f"{source} line {number}: this request came before that of line {above}; "
                "sort the trace by time"
            )
        if times and at_ns - times[0] > MOST_S * 1e9:
            raise UserError(f"{source} line {number}: more than {MOST_S:g} s after the first request")
        times.append(at_ns)
        tokens.append(count)
        above = number
    if not times:
        raise UserError(f"{source} has no request in it; name a trace that has some")
    at = np.array([each - times[0] for each in times], dtype=np.int64)
    return Trace(
        name=name or source, at_ns=at, tokens=np.array(tokens, dtype=np.int64), tick_ns=find_tick_ns(at)
    )


def find_tick_ns(at_ns: Ns) -> int:
    """The tick in which these times were written down, 0 for none.

    A clock that ticks shows by two marks: several requests at the very same time, and all other gaps
    whole multiples of one. (Requests that really came together leave odd gaps between.)
    """
    gaps = np.diff(at_ns)
    between = gaps[gaps > 0]
    if not len(between) or (gaps == 0).mean() < _TIED_SHARE:
        return 0
    least = float(np.quantile(between, 0.1, method="inverted_cdf"))
    multiples = np.rint(between / least)
    regular = (multiples >= 1) & (np.abs(between - multiples * least) <= 0.02 * least)
    if regular.mean() < _REGULAR_SHARE:
        return 0
    return round(float(np.median(between[regular] / multiples[regular])))


def _rows(lines: Iterable[str], source: str) -> Iterator[tuple[int, _Row]]:
    """Every row with the number of its line, by the format that the first line shows."""
    take: Callable[[str], _Row] | None = None
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        try:
            if take is not None:
                yield number, take(text)
            elif text.startswith("{"):
                take = _of_json
                yield number, take(text)
            else:
                take = _csv(text)
        except ValueError as error:  # msgspec's errors are ValueErrors too
            raise UserError(f"{source} line {number}: {error}") from None
        except RecursionError:
            raise UserError(f"{source} line {number}: nested too deeply for a request") from None


def _csv(head: str) -> Callable[[str], _Row]:
    """What takes the rows below this head."""
    columns = [column.strip() for column in head.split(",")]
    for wanted in COLUMNS:
        if wanted not in columns:
            raise ValueError(
                f"no column {wanted}; a trace begins with {','.join(COLUMNS)}, or is one JSON object a line"
            )
    at, context, generated = (columns.index(wanted) for wanted in COLUMNS)

    def take(text: str) -> _Row:
        fields = [field.strip() for field in text.split(",")]
        if len(fields) != len(columns):
            raise ValueError(f"{len(fields)} fields where the head has {len(columns)}")
        _whole(COLUMNS[1], fields[context], 0, 10**9)
        return _timestamp_ns(fields[at]), _whole(COLUMNS[2], fields[generated], 1, MOST_TOKENS)

    return take


class _Request(msgspec.Struct):
    timestamp: int | float
    input_length: int
    output_length: int


_REQUESTS = msgspec.json.Decoder(_Request)


def _of_json(text: str) -> _Row:
    found = _REQUESTS.decode(text)
    _within("timestamp", found.timestamp, 0, 1e15)
    _within("input_length", found.input_length, 0, 10**9)
    _within("output_length", found.output_length, 1, MOST_TOKENS)
    return round(found.timestamp * 10**6), found.output_length


_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def _whole(column: str, text: str, least: int, most: int) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{column} is {_short(text)}; it must be a whole number")
    value = int(text)
    _within(column, value, least, most)
    return value


def _within(column: str, value: float, least: int, most: float) -> None:
    if not least <= value <= most:
        raise ValueError(f"{column} is {value:,.15g}; it must be from {least} to {most:,.0f}")


_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)


def _timestamp_ns(text: str) -> int:
    """Nanoseconds since 1970. By hand, since `datetime` cuts the seventh digit off."""
    found = _TIMESTAMP.fullmatch(text)
    if not found:
        raise ValueError(f"TIMESTAMP is {_short(text)}; write it as 2023-11-16 18:15:46.6805900")
    *date, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat("{}-{}-{} {}:{}:{}".format(*date)).replace(tzinfo=_zone(zone))
    except ValueError as error:
        raise ValueError(f"TIMESTAMP is {_short(text)}: {error}") from None
    whole_s = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return whole_s * 10**9 + int((fraction or "").ljust(9, "0"))


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    hours, minutes = int(text[:3]), int(text[-2:])
    return timezone(timedelta(hours=hours, minutes=-minutes if text[0] == "-" else minutes))


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")
