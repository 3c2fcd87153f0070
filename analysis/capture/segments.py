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
