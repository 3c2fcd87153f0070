"""CSV that spreadsheet programs show as it is: a text from elsewhere never becomes a formula there."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")


def inert(cell: object) -> object:
    """A text that a spreadsheet would calculate gets an apostrophe before it (OWASP, CSV injection); numbers stay."""
    if isinstance(cell, str) and cell.startswith(_STARTS_A_FORMULA) and not _NUMBER.match(cell):
        return f"'{cell}"
    return cell


def write_csv(path: Path, header: Sequence[object], rows: Iterable[Sequence[object]]) -> None:
    """One header line and the rows; None becomes an empty cell."""
    with path.open("w", newline="") as file:
        append_csv(file, [[inert(cell) for cell in header]])
        append_csv(file, ([inert(cell) for cell in row] for row in rows))


def append_csv(file: TextIO, rows: Iterable[Sequence[object]]) -> None:
    """Rows whose cells are `inert`, at the end of a file that was opened with newline=""."""
    csv.writer(file, lineterminator="\n").writerows(rows)
