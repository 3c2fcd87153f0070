"""A capture's bytes: all of them, or those that are asked for, where the others are read as zeros."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparse:
    """Bytes of which some runs are here.

    start, stop: where each run is, ascending, and none touches another's bytes.  first: of each, where its bytes are in
    `held` (uint8).  size: how many bytes there are in all, those that are not here included.
    """

    start: np.ndarray
    stop: np.ndarray
    first: np.ndarray
    held: np.ndarray
    size: int

    @classmethod
    def of(cls, start: np.ndarray, stop: np.ndarray, held: np.ndarray, *, size: int) -> Sparse:
        """Runs in any order, whose bytes are in `held` one behind the other; where they overlap they are equal."""
        first = np.cumsum(stop - start) - (stop - start)
        order = np.argsort(start, kind="stable")
        start, stop, first = start[order], stop[order], first[order]
        reached = np.maximum.accumulate(np.append(0, stop))[:-1]
        known = np.maximum(reached - start, 0)  # bytes of each that an earlier one has, too
        some = start + known < stop
        return cls(
            start=(start + known)[some], stop=stop[some], first=(first + known)[some], held=held, size=size
        )  # fmt: skip

    def pieces(self, begin: np.ndarray, end: np.ndarray) -> list[memoryview]:
        """The bytes [begin, end) of each piece."""
        low, high = np.searchsorted(self.stop, begin, side="right"), np.searchsorted(self.start, end)
        count = np.maximum(high - low, 0)
        piece = np.repeat(np.arange(len(begin)), count)
        run = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
        from_, to = np.maximum(self.start[run], begin[piece]), np.minimum(self.stop[run], end[piece])
        ends = np.cumsum(end - begin)
        target = (ends - (end - begin) - begin)[piece] + from_
        source = self.first[run] - self.start[run] + from_
        found = memoryview(bytearray(int(ends[-1]) if len(ends) else 0))
        held = self.held.data
        for at, there, length in zip(target.tolist(), source.tolist(), (to - from_).tolist(), strict=True):
            found[at : at + length] = held[there : there + length]
        return [found[at:stop] for at, stop in zip((ends - (end - begin)).tolist(), ends.tolist(), strict=True)]

    def whole(self) -> np.ndarray:
        """All bytes (uint8)."""
        (found,) = self.pieces(np.array([0]), np.array([self.size]))
        return np.frombuffer(found, dtype=np.uint8)


Content = np.ndarray | Sparse


def pieces(content: Content, begin: np.ndarray, end: np.ndarray) -> list[memoryview]:
    """The bytes [begin, end) of each piece."""
    if isinstance(content, Sparse):
        return content.pieces(begin, end)
    data = content.data
    return [data[start:stop] for start, stop in zip(begin.tolist(), end.tolist(), strict=True)]


def whole(content: Content) -> np.ndarray:
    """All bytes (uint8)."""
    return content.whole() if isinstance(content, Sparse) else content
