"""From a run's folder to charts, a page, a table and CSV. Importing this costs nothing: what draws is
loaded when it is asked for."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlanes.lanes.base import Lane
    from streamlanes.record import Record


def build(folder: Path, answer: "Callable[[Sequence[Record], Sequence[Lane]], list[str]]") -> Path:
    """Write charts, records.csv and index.html into `folder`/report; returns the page's path.

    answer: says what the records of some lanes show (`advise.answer`). A run of several lanes gets all of
    them on one page. Raises UserError: 2 for a folder that is no run or cannot be written, 4 for a
    run without a record.
    """
    # Where its cache cannot be written matplotlib says so on every run, and nothing depends on it.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from streamlanes.errors import UserError
    from streamlanes.lanes import lanes_of
    from streamlanes.report.charts import draw
    from streamlanes.report.export import write_csv
    from streamlanes.report.load import load_run
    from streamlanes.report.page import Part, write_page

    run = load_run(folder)
    if not run.records:
        raise UserError(f"{folder}: no cell was measured yet; continue the run to have a report", exit_code=4)
    into = folder / "report"
    try:
        into.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{into} cannot be made: {error.strerror}; choose a folder you may write to"
        ) from None
    write_csv(run, into / "records.csv")
    lanes = lanes_of(record.cell.lane for record in run.records)
    parts = [Part(lane=one, charts=tuple(draw(run, one, into))) for one in lanes]
    return write_page(run, parts, answer(run.records, lanes), into)
