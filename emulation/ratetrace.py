"""Recorded rate traces in mahimahi's format: one line per chance to deliver a 1500-byte packet, its time in ms.

The trace repeats with a period of its last time stamp (Netravali et al., Mahimahi, USENIX ATC 2015).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from emulation.direction import FULL_FRAME
from emulation.frozen import Frozen

PACKET_BYTES = 1500
MAX_OPPORTUNITIES = 1_000_000
# tbf refuses a rate of zero; at this one a frame takes half an hour.
STANDSTILL = 8.0


class RateTrace(Frozen):
    """opportunities_ms: when a packet may be delivered, milliseconds from the start, in order.

    In a profile's file it may be the path of a trace file.
    """

    opportunities_ms: Annotated[
        tuple[Annotated[int, Field(ge=0, le=86_400_000)], ...],
        Field(min_length=1, max_length=MAX_OPPORTUNITIES),
    ]

    @model_validator(mode="after")
    def _in_order(self) -> RateTrace:
        times = np.asarray(self.opportunities_ms)
        back = np.flatnonzero(np.diff(times) < 0)
        if len(back):
            line = int(back[0]) + 2
            raise ValueError(f"line {line}: {times[line - 1]} ms comes after {times[line - 2]} ms: times must not fall")
        if times[-1] == 0:
            raise ValueError("the last time is 0 ms, and it is the period: a trace must last at least 1 ms")
        return self

    @property
    def period_s(self) -> float:
        """After how long the trace begins anew."""
        return self.opportunities_ms[-1] / 1e3

    @property
    def mean_rate(self) -> float:
        """Bit/s at layer 2, over one period."""
        return len(self.opportunities_ms) * FULL_FRAME * 8 / self.period_s

    def counts(self, *, step_s: float, until_s: float) -> np.ndarray:
        """Opportunities in each step of `step_s` seconds from 0 to `until_s`, the trace repeated as often as needed."""
        edges = np.arange(0, int(np.ceil(until_s / step_s)) + 1) * step_s * 1e3
        times = np.asarray(self.opportunities_ms, dtype=np.float64)
        rounds, rest = np.divmod(edges, self.period_s * 1e3)
        # An opportunity at the period's very end belongs to this round, one at 0 ms to the beginning of each.
        passed: np.ndarray = rounds * len(times) + np.searchsorted(times, rest, side="left")
        return np.diff(passed).astype(np.int64)


def read(path: Path) -> RateTrace:
    """Read a trace file.  OSError, or ValueError with the line, when it is none."""
    times = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        word = line.strip()
        if not word.isascii() or not word.isdigit():
            raise ValueError(f"{path}:{number}: {word[:40]!r} is not a whole number of milliseconds")
        times.append(int(word))
        if len(times) > MAX_OPPORTUNITIES:
            raise ValueError(f"{path}: more than {MAX_OPPORTUNITIES} opportunities")
    return RateTrace(opportunities_ms=tuple(times))


def rates(counts: np.ndarray, *, step_s: float, burst_bytes: int) -> np.ndarray:
    """The rate (bit/s) to set in each step so that a backlogged tbf delivers `counts` full frames in it.

    Setting a rate fills tbf's bucket, which is worth a frame, and spills what was left in it, which is half a
    frame in the mean.  Both are taken into account; what cannot be had in one step is settled in the next ones.
    A rate equal to the one before is not set again.
    """
    found = np.empty(len(counts))
    owed, rate = 0.0, 0.0
    gift = burst_bytes - FULL_FRAME / 2
    for position, count in enumerate(counts):
        owed += count * FULL_FRAME
        if rate != STANDSTILL or owed >= gift:
            rate = max((owed - gift) * 8 / step_s, STANDSTILL)
            owed = min(owed - gift, 0.0)
        found[position] = rate
    return found
