"""The offset between the two clocks is that of the reading that was held up least."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain, repeat

from hypothesis import given
from hypothesis import strategies as st

from experiments.trial.observers import wallclock

TRUE_NS, READ_NS = 1_700_000_000 * 10**9, 40
# One reading of a clock and what holds the process up afterwards.
Pauses = st.lists(st.integers(0, 10**8), min_size=26, max_size=26)


class Clocks:
    """Two clocks that read one time; after each look the process is held up for as long as the next pause says."""

    def __init__(self, pauses: Iterator[int]) -> None:
        self._now, self._pauses = 5_000_000_000, pauses

    def monotonic(self) -> int:
        now = self._now
        self._now += READ_NS + next(self._pauses)
        return now

    def wall(self) -> int:
        return self.monotonic() + TRUE_NS


def test_one_undisturbed_reading_is_enough() -> None:
    held_up = [53_000_000] * 3 * 4
    clocks = Clocks(chain(held_up, repeat(0)))
    assert wallclock.offset_ns(wall=clocks.wall, monotonic=clocks.monotonic) == TRUE_NS


@given(Pauses, st.integers(0, 8))
def test_pauses_of_the_other_readings_never_show(pauses: list[int], quiet: int) -> None:
    pauses[3 * quiet : 3 * quiet + 2] = [0, 0]
    clocks = Clocks(chain(pauses, repeat(0)))
    assert abs(wallclock.offset_ns(wall=clocks.wall, monotonic=clocks.monotonic) - TRUE_NS) <= READ_NS


def test_the_machines_own_clocks_are_read() -> None:
    kernels = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert abs(wallclock.offset_ns() - kernels) < 10**9  # a stall between two calls is the machine's
