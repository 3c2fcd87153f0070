"""Which pieces of a view one task reads: small ones of neighbours, as a task costs Spark more than most of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.reductions.cost import reduced_s
from analysis.reductions.kept import place_of, stamps
from analysis.spark.jobs import TASK_S, together
from analysis.sql.reduced import OF_REDUCTIONS
from analysis.sql.views import VIEWS
from analysis.sql.work import Work
from records.location import bytes_at
from records.packed import REDUCED

# CPU-seconds of a trial's rows, and of each byte of a kept reduction that they are read of, to a factor of two
# (`python benchmarks/spark_scale.py FOLDER --only sql`, with --flows 50 and with --flows 1000).  Ledgers take less.
_ROWS_S, _REDUCTION_BYTE_S, _LEDGER_BYTE_S = 0.004, 1e-7, 2e-8


def partitions(works: Sequence[Work]) -> list[tuple[Work, ...]]:
    """The pieces of each task, in their order; of few, each has a task of its own (analysis.spark.jobs.together)."""
    return [tuple(works[place] for place in group) for group in together([takes_s(work) for work in works])]


def takes_s(work: Work) -> float:
    """CPU-seconds of a piece, as far as sizes of files tell: of ranges, and at a URI, all that a task may take."""
    if work.at or work.piece:
        return TASK_S
    return _ROWS_S + sum(_trial_s(work.view, Path(trial)) for trial in work.trials)


def _trial_s(view: str, trial: Path) -> float:
    if view not in OF_REDUCTIONS:
        return _LEDGER_BYTE_S * sum(map(_bytes, (trial / name for name in VIEWS[view].files)))
    kept = max(_bytes(place_of(trial) / REDUCED), _bytes(trial / REDUCED))  # beside the campaign, or out of a pack
    return _REDUCTION_BYTE_S * kept if kept else reduced_s(sum(size for size, _ in stamps(trial).values()))


def _bytes(path: Path) -> int:
    try:
        return bytes_at(path)
    except OSError:
        return 0
