"""Values of axes as people write them: in a profile's tables, in `--set` of the command line."""

import re
from typing import Any

import msgspec

from streamlanes.cells import TEXT_AXES, Axes
from streamlanes.errors import UserError, unknown

_YES_OR_NO = {"true": True, "false": False}


def parse_axes(values: dict[str, Any]) -> Axes:
    """Axes from plain values. Raises UserError that names the axis."""
    for axis in values:
        if axis not in Axes.__struct_fields__:
            raise unknown("axis", axis, Axes.__struct_fields__)
    try:
        return msgspec.convert(values, Axes)
    except msgspec.ValidationError as error:
        where = re.search(r"\$\.(\w+)", str(error))
        axis = where[1] if where else "axes"
        what = str(error).split(" - at ")[0]
        raise UserError(f"axis {axis}: {what} (given: {values.get(axis)!r})") from None


def parse_setting(text: str) -> tuple[str, list[Any]]:
    """`axis=value[,value...]` from the command line: each value a number, true or false, a word,
    median~sigma or median^tail."""
    axis, equals, values = text.partition("=")
    if not equals or not values:
        raise UserError(f"--set {text!r}: write it as axis=value")
    if axis not in Axes.__struct_fields__:
        raise unknown("axis", axis, Axes.__struct_fields__)
    words = values.split(",")
    return axis, list(words) if axis in TEXT_AXES else [_value(each) for each in words]


def _value(text: str) -> Any:
    if text in _YES_OR_NO:
        return _YES_OR_NO[text]
    for mark, second in (("~", "sigma"), ("^", "tail")):
        median, marked, value = text.partition(mark)
        if marked:
            return {"median": _value(median), second: _value(value)}
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
