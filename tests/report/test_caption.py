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
