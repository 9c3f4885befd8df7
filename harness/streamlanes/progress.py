"""How a run shows itself while it goes: a bar on a terminal, plain lines elsewhere, records as JSON."""

import sys
from typing import IO

from streamlanes.cells import Cell
from streamlanes.estimate import Outlook
from streamlanes.lanes import lane
from streamlanes.record import Record, StatusName, encode
from streamlanes.runner import Tells
from streamlanes.words import quantity, title


class Plain:
    """A line when a cell is done: for logs and pipes. A search that ends early makes the total smaller."""

    def __init__(self, outlook: Outlook, out: IO[str]) -> None:
        self._outlook = outlook
        self._out = out

    def begin(self, cell: Cell) -> None:
        """Nothing: a log needs no promise."""

    def end(self, cell: Cell, record: Record) -> None:
        """One line with how the cell ended."""
        done, left = self._outlook.done, self._outlook.left
        print(f"[{done}/{done + left}] {cell.id}  {ending(record)}", file=self._out, flush=True)


class Json:
    """One record a line on standard output, as they come; the rest of the talk goes elsewhere."""

    def __init__(self, then: Tells) -> None:
        self._then = then

    def begin(self, cell: Cell) -> None:
        """Pass it on."""
        self._then.begin(cell)

    def end(self, cell: Cell, record: Record) -> None:
        """Print the record."""
        show_json(record)
        self._then.end(cell, record)


class Bar:
    """rich's progress bar, in seconds of the estimate. It is redrawn once a second and no more often:
    drawing takes CPU that the cell under way could miss."""

    def __init__(self, outlook: Outlook) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._outlook = outlook
        self._passed_s = 0.0
        self._console = Console(stderr=True)
        self._progress = Progress(
            BarColumn(),
            TextColumn("{task.description}", markup=False),
            console=self._console,
            transient=True,
            refresh_per_second=1,
        )
        self._task = self._progress.add_task(self._state(), total=outlook.left_s)
        self._progress.start()

    def begin(self, cell: Cell) -> None:
        """Name the cell under way."""
        about = f"{cell.id} (about {self._outlook.seconds(cell):.0f} s)"
        self._progress.update(self._task, description=f"{self._state()}  {about}")

    def end(self, cell: Cell, record: Record) -> None:
        """One step on; what did not go well stays on the screen."""
        self._passed_s += self._outlook.seconds(cell)
        total = self._passed_s + self._outlook.left_s
        self._progress.update(self._task, total=total, completed=self._passed_s, description=self._state())
        if record.status.name is not StatusName.OK:
            self._console.print(f"{cell.id}  {ending(record)}", markup=False, highlight=False)

    def close(self) -> None:
        """Give the terminal back."""
        self._progress.stop()

    def _state(self) -> str:
        done, left = self._outlook.done, self._outlook.left
        return f"{done} of {done + left} cells, about {duration(self._outlook.left_s)} left"


def duration(seconds: float) -> str:
    """Seconds as a person reads them."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min"


def show_json(record: Record) -> None:
    """One record on standard output."""
    sys.stdout.write(encode(record).decode())
    sys.stdout.flush()


def ending(record: Record) -> str:
    """How a cell ended, in a few words."""
    if record.status.name is not StatusName.OK:
        return f"{record.status.name.value.replace('_', ' ')}: {record.status.reason}"
    flags = "".join(f"  {flag.name.value}" for flag in record.flags)
    first = lane(record.cell.lane).first
    value = record.figure(first.path)
    return f"ok{flags}" if value is None else f"ok  {title(first.path)} {quantity(value, first.unit)}{flags}"
