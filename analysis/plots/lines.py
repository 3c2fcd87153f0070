"""Which trials of a cell are drawn, where each is a line: thousands of lines are one patch of colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

MOST_TRIALS = 60  # of a cell
T = TypeVar("T")


def drawn_of(trials: Sequence[T], has: Callable[[T], bool], most: int = MOST_TRIALS) -> list[T]:
    """Those that have anything to be drawn; of more than `most`, so many, as evenly as it goes from first to last.

    has: whether one has, which may mean to read a file: no more are asked than are needed.
    """
    if len(trials) <= most:
        return list(filter(has, trials))
    evenly = [number * (len(trials) - 1) // (most - 1) for number in range(most)]
    chosen = [number for number in evenly if has(trials[number])]
    others = iter(sorted(set(range(len(trials))).difference(evenly)))
    while len(chosen) < most and (number := next(others, None)) is not None:
        if has(trials[number]):
            chosen.append(number)
    return [trials[number] for number in sorted(chosen)]


def said_of(*trials: Sequence[object], most: int = MOST_TRIALS) -> str:
    """That not all trials of these cells are drawn, '' where all are."""
    return f"; at most {most} trials of a cell are drawn" if any(len(some) > most for some in trials) else ""
