"""Labels in the words of the pattern that cells follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from analysis.findings import CellFinding
from analysis.metric import Metric
from analysis.metrics import worded
from records.words import Words
from records.workload import words_of


def words_for(cells: Iterable[CellFinding]) -> Words:
    """What these cells' clients are called; where they follow several patterns, in words that fit them all."""
    return words_of({cell.pattern for cell in cells if cell.pattern is not None})


def metrics_for(cells: Iterable[CellFinding]) -> Mapping[str, Metric]:
    """All metrics by name, labelled in these cells' words."""
    return worded(words_for(cells))
