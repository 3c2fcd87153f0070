"""The report's tables of what trials have in detail: of ten thousand trials these are millions of rows.

Each trial's details are read once, and written at once; blocks of trials are written by several processes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from analysis.details import Details
from analysis.findings import Standing, TrialFinding
from analysis.sidebyside import processes_for, side_by_side
from records.spreadsheet import append_csv, inert, write_csv

Row = Sequence[object]
_BLOCK = 64  # trials, of which a block of rows has all; the details of each take some 5 ms
_WORTH = 4  # blocks


def write_detail_tables(folder: Path, trials: Sequence[TrialFinding], *, processes: int | None = None) -> None:
    """Write flows, seconds and latency-ecdf (.csv).

    processes: that write them, to the same bytes however many these are; None = as many as are worth it.
    """
    blocks = [trials[first : first + _BLOCK] for first in range(0, len(trials), _BLOCK)]
    count = processes or processes_for(len(blocks), worth=_WORTH)

    def written(names: Sequence[str]) -> list[str]:
        """Write all blocks with these figures of flows; those that flows have."""
        found = side_by_side(lambda number: _write(folder, number, blocks[number], names), len(blocks), processes=count)
        return list(dict.fromkeys(name for some in found for name in some))

    # Which figures flows have is known when all are read; mostly they are those of the first valid trial of each cell.
    firsts = {trial.cell: trial for trial in reversed(trials) if trial.standing is Standing.VALID}
    guessed = list(dict.fromkeys(name for one in reversed(firsts.values()) for name in _names(one.details.whole())))
    known = written(guessed)
    if known != guessed:
        written(known)
    headers: dict[str, Row] = {
        "flows": ["cell", "trial", "state", "flow", "direction", *known],
        "seconds": ["cell", "trial", "state", "series", "seconds_from_window_start", "value"],
        "latency-ecdf": ["cell", "trial", "state", "latency_s", "share", "latency_of"],
    }
    for name, header in headers.items():
        write_csv(folder / f"{name}.csv", header, ())
        with (folder / f"{name}.csv").open("ab") as file:
            for number in range(len(blocks)):
                part = _part(folder, name, number)
                with part.open("rb") as some:
                    shutil.copyfileobj(some, file)
                part.unlink()


def _part(folder: Path, name: str, number: int) -> Path:
    return folder / f".{name}-{number}"


def _write(folder: Path, number: int, trials: Sequence[TrialFinding], flow_names: Sequence[str]) -> list[str]:
    """Write a block's rows; the names of all figures that its flows have."""
    shapes: Mapping[str, Callable[[TrialFinding, Details], Iterator[Row]]] = {
        "flows": lambda trial, details: _flows(trial, details, flow_names),
        "seconds": _seconds,
        "latency-ecdf": _ecdf,
    }
    names: dict[str, None] = {}
    with ExitStack() as stack:
        files = {name: stack.enter_context(_part(folder, name, number).open("w", newline="")) for name in shapes}
        for trial in trials:
            details = trial.details.whole()
            names |= _names(details)
            for name, rows in shapes.items():
                append_csv(files[name], rows(trial, details))
    return list(names)


def _names(details: Details) -> dict[str, None]:
    found: dict[str, None] = {}
    for figures in details.flows.values():
        if not figures.keys() <= found.keys():
            found |= dict.fromkeys(figures)
    return found


def _head(trial: TrialFinding) -> list[object]:
    return [inert(trial.cell), trial.number, inert(trial.standing)]


def _flows(trial: TrialFinding, details: Details, names: Sequence[str]) -> Iterator[Row]:
    head = _head(trial)
    for flow, figures in details.flows.items():
        yield [*head, inert(flow), inert(details.directions.get(flow, "")), *map(figures.get, names)]


def _seconds(trial: TrialFinding, details: Details) -> Iterator[Row]:
    head = _head(trial)
    for series, points in details.seconds.items():
        named = [*head, inert(series)]
        yield from ([*named, t, value] for t, value in points)


def _ecdf(trial: TrialFinding, details: Details) -> Iterator[Row]:
    head = _head(trial)
    return ([*head, latency, share, trial.latency_of] for latency, share in details.ecdf)
