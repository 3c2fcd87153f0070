"""Array tools for packets that stand flow after flow: no loop per packet, no loop per flow."""

from __future__ import annotations

import numpy as np

SPAN = np.int64(1) << 42  # no flow in a capture is longer than this many bytes (4 TB)


def starts_of(groups: np.ndarray) -> np.ndarray:
    """Index of the first row of each run of equal values in `groups`."""
    if not len(groups):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))


def spread(values: np.ndarray, starts: np.ndarray, length: int) -> np.ndarray:
    """Repeat each group's value over the group's rows."""
    found: np.ndarray = np.repeat(values, np.diff(np.append(starts, length)))
    return found


def unwrap(numbers: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """32-bit sequence numbers as 64-bit offsets from each group's first one (RFC 1982 comparison of neighbours)."""
    steps = np.zeros(len(numbers), dtype=np.int64)
    steps[1:] = (numbers[1:] - numbers[:-1]).view(np.int32)
    steps[starts] = 0
    total = np.cumsum(steps)
    found: np.ndarray = total - spread(total[starts], starts, len(numbers))
    return found


def highest_before(values: np.ndarray, starts: np.ndarray, *, first: np.ndarray) -> np.ndarray:
    """Largest of the earlier values of the same group; `first` gives it for each group's first row."""
    rank = spread(np.arange(len(starts), dtype=np.int64) * SPAN, starts, len(values))
    running = np.maximum.accumulate(values + rank)
    before = np.empty_like(values)
    before[1:] = running[:-1]
    before -= rank
    before[starts] = first
    return before


def latest(marks: np.ndarray) -> np.ndarray:
    """Index of the last marked row at or before each row; 0 before the first marked one."""
    found: np.ndarray = np.maximum.accumulate(np.where(marks, np.arange(len(marks)), 0))
    return found


def first_at_least(values: np.ndarray, *, start: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """For each query the first index from `start` on whose value reaches `bound`; len(values) when none does.

    A pyramid of maxima is climbed from the start and descended again, all queries a level at a time, so a
    query costs the logarithm of the distance.
    """
    levels = [values]
    while len(levels[-1]) > 1:
        levels.append(_pairs(levels[-1]))
    node = start.copy()
    stop = np.full(len(start), -1)
    for height, level in enumerate(levels):
        for turn in (0, 1):
            open_ = (stop < 0) & (node < len(level)) & ((turn == 0) | (node % 2 == 1))
            rows = np.flatnonzero(open_)
            hit = level[node[rows]] >= bound[rows]
            stop[rows[hit]] = height
            node[rows[~hit]] += 1
        node[stop < 0] = (node[stop < 0] + 1) // 2
    for height in range(len(levels) - 1, 0, -1):
        rows = np.flatnonzero(stop >= height)
        left = node[rows] * 2
        node[rows] = left + (levels[height - 1][left] < bound[rows])
        stop[rows] = height - 1
    return np.where(stop >= 0, node, len(values))


def _pairs(values: np.ndarray) -> np.ndarray:
    """The larger of each two neighbours; an odd last one stands alone."""
    both = np.maximum(values[: len(values) // 2 * 2 : 2], values[1::2])
    return both if len(values) % 2 == 0 else np.append(both, values[-1])


def earliest_cover(low: np.ndarray, high: np.ndarray, *, number: np.ndarray, count: int) -> np.ndarray:
    """For each of `count` places the smallest number among the ranges [low, high) over it; -1 where there is none.

    Each range is laid down as two overlapping ones whose length is a power of two; then each length is handed
    down to its half (a sparse table read backwards), so the cost does not grow with the overlap.
    """
    none = np.iinfo(np.int64).max
    length = high - low
    real = length > 0
    low, high, number, length = low[real], high[real], number[real], length[real]
    height = np.frexp(length.astype(np.float64))[1] - 1
    found = np.full(count, none)
    for level in range(int(height.max(initial=0)), -1, -1):
        mine = height == level
        np.minimum.at(found, low[mine], number[mine])
        np.minimum.at(found, high[mine] - (1 << level), number[mine])
        if level:
            half = 1 << (level - 1)
            moved = found.copy()
            np.minimum(moved[half:], found[:-half], out=moved[half:])
            found = moved
    return np.where(found == none, -1, found)
