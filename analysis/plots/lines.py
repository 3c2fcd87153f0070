"""Which trials of a cell are drawn, where each is a line: thousands of lines are one patch of colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

MOST_TRIALS = 60  # of a cell
T = TypeVar("T")


def drawn_of(trials: Sequence[T], most: int = MOST_TRIALS) -> list[T]:
    """All of them, or `most`, evenly from the first to the last."""
    if len(trials) <= most:
        return list(trials)
    return [trials[number * (len(trials) - 1) // (most - 1)] for number in range(most)]


def said_of(*trials: Sequence[object], most: int = MOST_TRIALS) -> str:
    """That not all trials of these cells are drawn, '' where all are."""
    longest = max(map(len, trials), default=0)
    each = "of a cell's" if len(trials) > 1 else "of"
    return f"; {most} {each} {longest:,} trials are drawn" if longest > most else ""
