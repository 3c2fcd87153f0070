"""How late the line gives frames out, as counts in buckets: added up without loss, and small however many frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

BUCKET_NS = 1 << 13  # 8 us: much less than anything that is judged
BUCKETS = 1024  # the last one holds all that is later than 8.4 ms
SHIFT = BUCKET_NS.bit_length() - 1


class Buckets:
    """Counts in the making, by bucket.  worst_ns: the latest."""

    __slots__ = ("counts", "worst_ns")

    def __init__(self) -> None:
        self.counts = [0] * BUCKETS
        self.worst_ns = 0

    def note(self, late_ns: int) -> None:
        """Count something that came so late."""
        bucket = late_ns >> SHIFT
        self.counts[bucket if bucket < BUCKETS else -1] += 1
        if late_ns > self.worst_ns:  # noqa: PLR1730 - a call of max takes four times as long
            self.worst_ns = late_ns

    def taken(self) -> tuple[list[tuple[int, int]], int]:
        """Buckets that have something with how many, and the latest (ns); all is forgotten with that."""
        top = min(self.worst_ns >> SHIFT, BUCKETS - 1) + 1
        found = [(bucket, count) for bucket, count in enumerate(self.counts[:top]) if count], self.worst_ns
        self.counts[:top] = [0] * top
        self.worst_ns = 0
        return found


@dataclass(frozen=True, slots=True)
class Lateness:
    """frames: how many were so late, by bucket (int64).  worst_ns: the latest of them.

    A frame counts when it is given out.  Beats are counted alike: moments that the line sets itself, evenly, each as
    late as the line then is with reading what has come.  A line that waits for a processor reads late, which no frame
    that it gives out shows.
    """

    frames: np.ndarray
    worst_ns: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]] = (), worst_ns: int = 0) -> Lateness:
        """pairs: a bucket and how many are in it."""
        frames = np.zeros(BUCKETS, dtype=np.int64)
        for bucket, count in pairs:
            frames[bucket] = count
        return cls(frames, worst_ns)

    def __add__(self, other: Lateness) -> Lateness:
        """Both together."""
        return Lateness(self.frames + other.frames, max(self.worst_ns, other.worst_ns))

    @property
    def total(self) -> int:
        """How many were counted."""
        return int(self.frames.sum())

    def quantile_s(self, share: float) -> float:
        """A bound, in seconds, that this share of the frames kept; it is exact to a bucket.  0 without frames."""
        if not self.total:
            return 0.0
        bucket = int(np.searchsorted(np.cumsum(self.frames), share * self.total))
        return min((bucket + 1) * BUCKET_NS, self.worst_ns) / 1e9 if bucket < BUCKETS - 1 else self.worst_ns / 1e9
