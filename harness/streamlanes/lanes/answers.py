"""What lanes' answers have in common: a figure over repetitions, and how sure it is."""

from collections.abc import Iterable
from statistics import median

from streamlanes.record import Record


def middle(records: Iterable[Record], path: str) -> tuple[float | None, str]:
    """A figure's median over the clean repetitions, over all where none is clean, and then a word of
    doubt; None where no record has it."""
    known = [record for record in records if record.figure(path) is not None]
    clean = [record for record in known if record.clean]
    values = [value for record in clean or known if (value := record.figure(path)) is not None]
    return (median(values) if values else None), "" if clean else " (flagged)"
