"""How fast bytes become events, however they are cut."""

from collections.abc import Callable
from timeit import repeat

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from streamlanes.provider import frames
from streamlanes.wire.http1 import ResponseDecoder
from streamlanes.wire.sse import EventDecoder, NamedEventDecoder
from texts import EVENT_BYTES, bodies, chunks, events, named_events, pieces
from timing import Note, fastest_s, mb_per_s, ns_each

MIB = 1 << 20
TOKENS = 1000

Kind = type[EventDecoder | NamedEventDecoder]

pytestmark = pytest.mark.usefixtures("awake")
KINDS = pytest.mark.parametrize(("kind", "of"), [(EventDecoder, events), (NamedEventDecoder, named_events)])


def decode(parts: list[bytes], kind: Kind = EventDecoder) -> int:
    """How many events a fresh decoder finds."""
    feed = kind().feed
    found = 0
    for part in parts:
        found += len(feed(part))
    return found


@KINDS
def test_events_in_pieces_of_64_kib(
    benchmark: BenchmarkFixture, note: Note, kind: Kind, of: Callable[[int], bytes]
):
    """Held to 150 MB/s on a shared core. A piece ends inside an event nearly always."""
    text = of(MIB // EVENT_BYTES * EVENT_BYTES)
    assert benchmark(decode, pieces(text, 64 * 1024), kind) == len(text) // EVENT_BYTES
    note(mb_per_s=mb_per_s(benchmark, len(text)), ns_per_event=ns_each(benchmark, len(text) // EVENT_BYTES))


def test_an_event_a_piece(benchmark: BenchmarkFixture, note: Note):
    """As the provider's tokens come, one a read."""
    text = b"".join(bodies(TOKENS))
    assert benchmark(decode, bodies(TOKENS)) == TOKENS
    note(mb_per_s=mb_per_s(benchmark, len(text)), ns_per_event=ns_each(benchmark, TOKENS))


@KINDS
def test_pieces_of_512_bytes_take_linear_time(
    benchmark: BenchmarkFixture, note: Note, kind: Kind, of: Callable[[int], bytes]
):
    """Four times the bytes should take four times as long; held to five."""
    large, small = of(4 * MIB // EVENT_BYTES * EVENT_BYTES), of(MIB // EVENT_BYTES * EVENT_BYTES)
    assert benchmark(decode, pieces(large, 512), kind) == len(large) // EVENT_BYTES
    note(mb_per_s=mb_per_s(benchmark, len(large)))
    if took_s := fastest_s(benchmark):
        parts = pieces(small, 512)
        small_s = min(repeat(lambda: decode(parts, kind), number=1, repeat=20))
        note(ratio_4_mib_to_1_mib=round(took_s / small_s * len(small) * 4 / len(large), 3))


def test_lines_ended_by_cr_and_lf(benchmark: BenchmarkFixture, note: Note):
    """The way line by line, which nothing shortens."""
    text = events(MIB // EVENT_BYTES * EVENT_BYTES).replace(b"\n", b"\r\n")
    assert benchmark(decode, pieces(text, 64 * 1024)) == MIB // EVENT_BYTES
    note(mb_per_s=mb_per_s(benchmark, len(text)))


def test_one_event_in_pieces_of_512_bytes_takes_linear_time(benchmark: BenchmarkFixture, note: Note):
    """One event that grows: a decoder that joins at every piece would take time by its square."""

    def of(size: int) -> list[bytes]:
        return [*pieces(b"data: " + b"x" * (size - 8), 512), b"\n\n"]

    assert benchmark(decode, of(MIB)) == 1
    note(mb_per_s=mb_per_s(benchmark, MIB))
    if took_s := fastest_s(benchmark):
        parts = of(MIB // 4)
        small_s = min(repeat(lambda: decode(parts), number=1, repeat=50))
        note(ratio_1_mib_to_256_kib=round(took_s / small_s, 3))


def test_response_of_a_chunk_a_read(benchmark: BenchmarkFixture, note: Note):
    reads = [frames.HEAD, *chunks(TOKENS), frames.END]

    def decode_response() -> tuple[int, bool]:
        answer = ResponseDecoder()
        size = 0
        for data in reads:
            size += len(answer.feed(data))
        return size, answer.complete

    assert benchmark(decode_response) == (sum(map(len, bodies(TOKENS))), True)
    note(ns_per_read=ns_each(benchmark, len(reads)))


def test_a_large_chunk_in_reads_of_16_kib(benchmark: BenchmarkFixture, note: Note):
    """One HTTP chunk of 4 MiB: what has come of it is handed out at once."""
    size = 4 * MIB
    reads = [frames.HEAD, *pieces(b"%x\r\n" % size + b"x" * size + b"\r\n" + frames.END, 16 * 1024)]

    def decode_response() -> int:
        feed = ResponseDecoder().feed
        return sum(len(feed(data)) for data in reads)

    assert benchmark(decode_response) == size
    note(mb_per_s=mb_per_s(benchmark, size))
