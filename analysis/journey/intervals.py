"""The streams of one direction cut at every edge of a segment: who brought which bytes first, and how often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.journey.passages import Passages
from analysis.tcp.segments import SPAN


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Interval i is [edge[i], edge[i + 1]); an edge is flow * SPAN + position.

    first[place, i]: row of the passage that showed the bytes first at a place.  ready[place, i]: of the passage
    after which every byte of the stream up to the interval's end had been seen there.  Both are `missing` (the
    number of passages) when that was never so.  keeper: row of the first passage whose capture has the bytes.
    copies: how often the bytes entered the medium; sent: the same, in bytes, summed up to each interval.
    """

    edge: np.ndarray
    first: np.ndarray
    ready: np.ndarray
    keeper: np.ndarray
    copies: np.ndarray
    sent: np.ndarray
    missing: int

    def at(self, flow: np.ndarray, position: np.ndarray) -> np.ndarray:
        """The interval that has the byte at a position."""
        found: np.ndarray = np.searchsorted(self.edge, flow * SPAN + position, side="right") - 1
        return found

    def sent_before(self, flow: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Bytes that entered the medium, copies included, of all that stands before a position."""
        place = flow * SPAN + position
        index = np.searchsorted(self.edge, place, side="right") - 1
        found: np.ndarray = self.sent[index] + self.copies[index] * (place - self.edge[index])
        return found


def intervals(passages: Passages, enter: int) -> Intervals:
    """Cut the streams.  enter: the place where packets enter the medium.

    ValueError when segments overlap so much that they cannot be held in memory.
    """
    base, missing = passages.flow * SPAN, len(passages)
    begin, end = base + passages.begin, base + passages.end
    body, kept = base + passages.body, base + passages.kept
    edge = _distinct(np.concatenate([begin, end, body[body != begin], kept[kept != end]]))
    row, interval = _covered(edge, begin, end)
    first = np.full((passages.places, len(edge)), missing, dtype=np.int64)
    for place in range(passages.places):
        here = passages.place[row] == place
        _first(first[place], row[here], interval[here])
    keeper = np.full(len(edge), missing, dtype=np.int64)
    _first(keeper, *_covered(edge, body, kept))
    copies = np.bincount(interval[passages.place[row] == enter], minlength=len(edge))
    length = np.diff(edge, append=edge[-1:])
    return Intervals(
        edge=edge,
        first=first,
        ready=np.stack([_running(one, edge // SPAN, missing) for one in first]),
        keeper=keeper,
        copies=copies,
        sent=np.cumsum(copies * length) - copies * length,
        missing=missing,
    )


def _distinct(values: np.ndarray) -> np.ndarray:
    """As numpy.unique, whose hashing takes several times as long as sorting these."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values


def _covered(edge: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (row, interval) for every interval inside [begin, end) of a row."""
    low, high = np.searchsorted(edge, begin), np.searchsorted(edge, end)
    width = high - low
    total = int(width.sum())
    # Segments of one stream hardly overlap; a file made to overlap must not eat the memory.
    if total > 64 * len(begin) + 1_000_000:
        raise ValueError(f"{len(begin)} segments overlap in {total} places, which is no TCP stream")
    row = np.repeat(np.arange(len(begin)), width)
    interval = np.arange(total) - np.repeat(np.cumsum(width) - width, width) + np.repeat(low, width)
    return row, interval


def _first(found: np.ndarray, row: np.ndarray, interval: np.ndarray) -> None:
    """Lowest row of each interval: of several assignments to one place the last one stays, so lowest rows go last."""
    found[interval[::-1]] = row[::-1]


def _running(first: np.ndarray, flow: np.ndarray, missing: int) -> np.ndarray:
    """Highest of the rows up to each interval of its flow: rows are in order of time."""
    rank = flow * (missing + 1)
    found: np.ndarray = np.maximum.accumulate(first + rank) - rank
    return found
