"""The words of `streamlanes durable demo`. Pure."""

from collections.abc import Sequence

from streamlanes.demo.acts import Played
from streamlanes.demo.figures import Compare, Figure, Value


def act_lines(played: Played, number: int, total: int) -> list[str]:
    """An act as it comes: a row a figure, what was expected beside what was measured."""
    rows = [("", "expected", "measured", ""), *map(_row, played.figures)]
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    return [
        f"[{number}/{total}] {played.name}: {played.says} ({played.took_s:.1f} s)",
        *(
            f"    {what:{widths[0]}}  {expected:>{widths[1]}}  {measured:>{widths[2]}}  {mark}".rstrip()
            for what, expected, measured, mark in rows
        ),
        "",
    ]


def answer_line(all_played: Sequence[Played]) -> str:
    """What it came to."""
    wrong = [played.name for played in all_played if not played.holds]
    figures = sum(len(played.figures) for played in all_played)
    took_s = sum(played.took_s for played in all_played)
    if wrong:
        return f"ANSWER  not as expected: {', '.join(wrong)} ({took_s:.1f} s)"
    return f"ANSWER  {len(all_played)} acts, {figures} figures, all as expected ({took_s:.1f} s)"


def _row(figure: Figure) -> tuple[str, str, str, str]:
    least = ">= " if figure.compare is Compare.AT_LEAST else ""
    measured = "none" if figure.measured is None else _shown(figure.measured, figure.unit)
    mark = "" if figure.holds else "NOT AS EXPECTED"
    return figure.what, f"{least}{_shown(figure.expected, figure.unit)}", measured, mark


def _shown(value: Value, unit: str) -> str:
    text = value if isinstance(value, str) else f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
    return f"{text} {unit}" if unit else text
