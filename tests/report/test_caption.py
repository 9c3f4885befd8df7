"""What stands under a chart about the interpreters that cells ran under."""

import msgspec
import pytest

from records import record
from streamlanes.report.caption import lines
from streamlanes.series import points


@pytest.mark.parametrize(
    ("pythons", "says"),
    [
        ([None], ""),
        (["3.12.1"], ""),
        (["3.13.0"], "; cells under CPython 3.13.0"),
        (["3.12.1", "3.13.0", "3.13.0"], "; cells under CPython 3.12.1, CPython 3.13.0"),
    ],
)
def test_an_interpreter_that_is_not_the_runs_own_is_named(pythons: list[str | None], says: str):
    made = [
        msgspec.structs.replace(
            record(repetition=place),
            interpreter={"implementation": "CPython", "python": python} if python else {},
        )
        for place, python in enumerate(pythons, 1)
    ]
    assert lines(points(made))[0].partition("uvloop 0.23.0")[2] == says


def test_tls_and_what_the_provider_did_are_told():
    plain = record()
    cell = msgspec.structs.replace(
        plain.cell,
        axes={**plain.cell.axes, "tls": True},
        provider={"seed": 3, "tokens_per_chunk": 4, "faults": {"reset": 0.125, "stall": 0.01}},
    )
    client, provider = lines(points([msgspec.structs.replace(plain, cell=cell)]))[1:]
    assert client.startswith("Client: streams over TLS. ")
    assert provider == "Provider: 4 tokens a chunk, 12.5 % reset, 1 % stall."
    assert len(lines(points([plain]))) == 2


def test_figures_that_a_chart_tells_of_stand_under_it_with_their_range():
    made = [
        record(calls=size, figures={"durable.fsync_us": took})
        for size, took in ((10, 150.5), (20, 298), (30, 211))
    ]
    sentence = (("durable.fsync_us", "A sync takes {} us by itself."),)
    assert lines(points(made), sentence)[-1] == "A sync takes 211 (150 to 298) us by itself."
    assert lines(points(made[:1]), sentence)[-1] == "A sync takes 150 us by itself."
    assert lines(points([record()]), sentence) == lines(points([record()])), "nothing where none is known"
