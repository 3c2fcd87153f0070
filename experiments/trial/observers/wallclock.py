"""How far the wall clock, which stamps packets, is ahead of the monotonic one, which stamps messages."""

from __future__ import annotations

import time
from collections.abc import Callable

_READINGS = 9
Clock = Callable[[], int]


def offset_ns(*, wall: Clock = time.time_ns, monotonic: Clock = time.monotonic_ns) -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC, nanoseconds, wrong by at most half the shortest of nine readings.

    The wall clock is read between two readings of the monotonic one and belongs to their middle (Cristian, 1989); of
    several attempts the one counts in which these two are closest, so a process that is held up in the others, for
    however long, does not matter.
    """
    return min(_reading(wall, monotonic) for _ in range(_READINGS))[1]


def _reading(wall: Clock, monotonic: Clock) -> tuple[int, int]:
    """How long a reading took, and the offset by it; both in nanoseconds."""
    before = monotonic()
    now = wall()
    after = monotonic()
    return after - before, now - (before + after) // 2
