"""The tables of `lab analyse` as CSV: SI units, one header line, empty where there is no value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.foreign_captures.model import CaptureFile
from records.spreadsheet import write_csv

_UNKNOWN = frozenset({"key", "src", "sport", "dst", "dport"})


def write_tables(folder: Path, files: Sequence[CaptureFile]) -> None:
    """Write flows.csv (a row per directed flow) and seconds.csv (counts per bin) into `folder`."""
    names = list(dict.fromkeys(n for file in files for n in file.flows.column_names if n not in _UNKNOWN))
    header = ["capture", "flow", "src", "sport", "dst", "dport", *names]
    write_csv(folder / "flows.csv", header, (row for file in files for row in _flows(file, names)))
    header = ["capture", "flow", "series", "bin_begins_s", "bin_width_s", "value"]
    write_csv(folder / "seconds.csv", header, (row for file in files for row in _seconds(file)))


def _flows(file: CaptureFile, names: Sequence[str]) -> Iterator[Sequence[object]]:
    have = set(file.flows.column_names)
    columns = [file.flows.column(name).to_pylist() for name in ("key", "src", "sport", "dst", "dport") if name in have]
    empty = [""] * len(file.flows)
    columns += [file.flows.column(name).to_pylist() if name in have else empty for name in names]
    for row in zip(*columns, strict=True):
        yield [file.name, *("" if cell is None else _plain(cell) for cell in row)]


def _plain(cell: object) -> object:
    """Whole numbers without a point."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _seconds(file: CaptureFile) -> Iterator[Sequence[object]]:
    width = file.span.width_s if file.span else 0.0
    for (key, series), points in sorted(file.seconds.items()):
        for t, value in points:
            yield [file.name, key or "all", series, f"{t:.6g}" if t < 1e5 else int(t), width, int(value)]
