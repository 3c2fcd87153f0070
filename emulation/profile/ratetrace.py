"""Recorded rate traces in mahimahi's format: one line per chance to deliver a 1500-byte packet, its time in ms.

The trace repeats with a period of its last time stamp (Netravali et al., Mahimahi, USENIX ATC 2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from emulation.profile.direction import FULL_FRAME
from emulation.profile.frozen import Frozen

MAX_OPPORTUNITIES = 1_000_000
# How late a rate may be set without harm (`python benchmarks/emulation_accuracy.py --only rate-step`).
_LEAD_S = 0.003
_LONGEST_HOLD_S = 20.0  # htb forgets what a class owes beyond a minute


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

    def counts(self, *, step_s: float, until_s: float) -> np.ndarray:
        """Opportunities in each step of `step_s` seconds from 0 to `until_s`, the trace repeated as often as needed."""
        # Rounded, because 4.23 s are a little more than 423 steps of 10 ms, and 3 steps of 50 ms than 150 ms.
        steps = int(np.ceil(round(until_s / step_s, 6)))
        edges = np.round(np.arange(0, steps + 1) * step_s * 1e3, 6)
        times = np.asarray(self.opportunities_ms, dtype=np.float64)
        rounds, rest = np.divmod(edges, float(self.opportunities_ms[-1]))
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


@dataclass(frozen=True, slots=True)
class Pace:
    """What a step of a trace sets.

    rate: bit/s.  held: nothing may pass.  holds: it begins here to be held, for as long as a full frame takes at
    `rate`; later steps have the rate of whatever does pass.
    """

    rate: float
    held: bool = False
    holds: bool = False


def paces(counts: np.ndarray, *, step_s: float) -> list[Pace]:
    """What to set in each step so that a queue in which packets wait delivers `counts` full frames in it.

    An htb class sends its next frame when the last one would be over at the rate that held when it began, whatever
    was set since.  So each rate is such that its step's last frame is over just after the next rate is due, and
    what that costs is settled in the step after it.  In steps without frames the queue is held.
    """
    total = np.cumsum(counts)
    lead = min(_LEAD_S, step_s / 4)
    found: list[Pace] = []
    free, sent = 0.0, 0  # from when on the next frame can begin, and how many have
    while (position := len(found)) < len(counts):
        end = (position + 1) * step_s
        owed = int(total[position]) - sent
        if free >= end:  # a frame that began earlier, or a hold, is not over
            found.append(replace(found[-1], holds=False))
        elif owed > 0:
            rate, frame_s = _settable((end + min(lead, step_s / (2 * owed)) - free) / owed)
            begun = math.ceil((end - free) / frame_s - 1e-9)
            free, sent = free + begun * frame_s, sent + begun
            found.append(Pace(rate))
        else:
            until = min(int(np.searchsorted(total, sent + 1)), position + max(int(_LONGEST_HOLD_S / step_s), 1))
            rate, frame_s = _settable(until * step_s + lead - free)
            meanwhile, _ = _settable(step_s)
            found += [Pace(rate, held=True, holds=True), *[Pace(meanwhile, held=True)] * (until - position - 1)]
            free += frame_s
    return found


def shares(counts: np.ndarray, *, step_s: float) -> list[Pace]:
    """What to set in each step so that `counts` full frames pass in it, where a change of rate holds at once.

    That is so in emulation.line, which shares a change in mid-frame out: the bits that pass are exact at every edge.
    """
    passing = [float(count) for count in counts if count]
    before = passing[0] if passing else 1.0
    found = []
    for count in counts:
        before = float(count) or before
        found.append(Pace(before * FULL_FRAME * 8 / step_s, held=not count))
    return found


def _settable(frame_s: float) -> tuple[float, float]:
    """The rate (bit/s) at which a full frame takes that time, or a little longer; and how long.

    The kernel's rates are whole bytes per second.
    """
    bytes_per_s = max(int(FULL_FRAME / frame_s), 1)
    return bytes_per_s * 8.0, FULL_FRAME / bytes_per_s
