"""A sheet of paper laid out in inches: title, body, foot notes, caption; saved as SVG and PNG.

Figures are made as objects, without pyplot: no display is needed and no state is shared.
"""

import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.style import context

from streamlanes.errors import UserError
from streamlanes.report.style import FAINT, GREY, INK

PNG_DPI = 160
_MARGIN_IN = 0.25
_TITLE_PT, _NOTE_PT, _CAPTION_PT = 13.0, 8.0, 7.5
_SETTINGS = {
    "svg.fonttype": "none",  # text stays text: small files that can be searched and read aloud
    "svg.hashsalt": "streamlanes",  # the same run gives the same bytes
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "text.parse_math": False,
}


def settings() -> AbstractContextManager[None]:
    """The drawing settings, for as long as a chart is made; the caller's own come back after it."""
    return context(["default", _SETTINGS])


class Sheet:
    """One figure. The body is addressed in inches from its left top corner, downwards."""

    def __init__(
        self, width_in: float, body_in: float, title: str, notes: Sequence[str], caption: Sequence[str]
    ) -> None:
        self.notes, self.caption = tuple(notes), tuple(caption)
        text_in = width_in - 2 * _MARGIN_IN
        heads = _wrapped([title], text_in, _TITLE_PT)
        foot = [(line, _NOTE_PT, INK) for line in _wrapped(notes, text_in, _NOTE_PT)]
        foot += [(line, _CAPTION_PT, GREY) for line in _wrapped(caption, text_in, _CAPTION_PT)]
        self._top_in = _MARGIN_IN + len(heads) * _line_in(_TITLE_PT) + 0.1
        foot_in = sum(_line_in(size) for _, size, _ in foot) + 0.15
        self._width_in = width_in
        self._height_in = self._top_in + body_in + foot_in + _MARGIN_IN
        self.figure = Figure(figsize=(width_in, self._height_in), dpi=100, facecolor="white")
        FigureCanvasAgg(self.figure)
        at = _MARGIN_IN
        for line in heads:
            self._write(at, line, _TITLE_PT, INK, weight="bold")
            at += _line_in(_TITLE_PT)
        at = self._top_in + body_in + 0.15
        for line, size, colour in foot:
            self._write(at, line, size, colour)
            at += _line_in(size)

    def axes(self, left_in: float, top_in: float, width_in: float, height_in: float) -> Axes:
        """Axes whose box stands at this place of the body."""
        bottom_in = self._height_in - self._top_in - top_in - height_in
        box = (
            left_in / self._width_in,
            bottom_in / self._height_in,
            width_in / self._width_in,
            height_in / self._height_in,
        )
        axes = self.figure.add_axes(box)
        axes.spines[["top", "right"]].set_visible(False)
        return axes

    def heading(self, left_in: float, top_in: float, text: str) -> None:
        """A bold line in the body."""
        self._write(self._top_in + top_in, text, 9.5, INK, weight="bold", left_in=left_in)

    def save_svg(self, folder: Path, name: str) -> Path:
        """Write `name`.svg; raises UserError if it cannot be written."""
        return self._save(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})

    def save_png(self, folder: Path, name: str) -> Path:
        """Write `name`.png; raises UserError if it cannot be written."""
        return self._save(folder / f"{name}.png", dpi=PNG_DPI, metadata={"Software": None})

    def _save(self, path: Path, **how: Any) -> Path:
        try:
            self.figure.savefig(path, **how)
        except OSError as error:
            raise UserError(
                f"{path} cannot be written: {error.strerror}; make room or name another folder"
            ) from None
        return path

    def _write(
        self,
        top_in: float,
        text: str,
        size: float,
        colour: str,
        weight: str = "normal",
        left_in: float = _MARGIN_IN,
    ) -> None:
        x, y = left_in / self._width_in, 1 - top_in / self._height_in
        self.figure.text(x, y, text, size=size, color=colour, weight=weight, va="top", ha="left")


def text_in(text: str, size_pt: float) -> float:
    """About how wide a text is, rounded up; exact only where a renderer measures it."""
    return len(text) * size_pt * 0.6 / 72


def _line_in(size_pt: float) -> float:
    return size_pt * 1.45 / 72


def _wrapped(texts: Sequence[str], width_in: float, size_pt: float) -> list[str]:
    letters = int(width_in * 72 / (size_pt * 0.56))
    return [line for text in texts for line in textwrap.wrap(text, letters)]
