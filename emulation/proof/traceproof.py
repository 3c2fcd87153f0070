"""Proof of a recorded trace by its sum: what a queue carried against all that the trace let through meanwhile.

A single step is a few frames, which a probe cannot tell from chance; over a window they add up to what was asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from emulation.kernel import kernel
from emulation.profile.direction import FULL_FRAME
from emulation.profile.events import Trace
from emulation.proof.rateproof import RATE_TOLERANCE
from records.directions import Direction
from records.link import LinkCheck

# A frame that began before a reading and one that a step's end cut off: emulation.profile.ratetrace is a frame off at
# most.
_FRAMES_OFF = 2
# A step's last frame ends up to 3 ms late (emulation.profile.ratetrace); a reading's time is that of its first queue.
_READING_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReading:
    """t_ns: CLOCK_MONOTONIC.  sent_bytes: that have left the queue by then, at layer 2.  backlog_bytes: that wait."""

    t_ns: int
    sent_bytes: int
    backlog_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceUse:
    """What a queue carried whose rate a trace sets.

    rate_before: bit/s until the trace begins, at `begins_ns`.  readings: in order, two at least; the first and the last
    are the window's.  late_s: how late the latest step was.
    """

    queue: str
    direction: Direction
    trace: Trace
    rate_before: float
    begins_ns: int
    late_s: float
    readings: Sequence[QueueReading]


def trace_check(use: TraceUse) -> LinkCheck:
    """A queue may never carry more than its trace lets through, and all of that while packets certainly waited in it.

    They did between two readings when at the first more waited than the trace let through until the second.  What may
    be under way at the ends of such a time is allowed for, so the lower bound can be below zero.
    """
    times = np.array([one.t_ns for one in use.readings])
    passed = _passed_bytes(use, times)
    seconds = float(times[-1] - times[0]) / 1e9
    asked, carried = passed[-1] - passed[0], use.readings[-1].sent_bytes - use.readings[0].sent_bytes
    off = _off_bytes(use, float(times[-1] - use.begins_ns) / 1e9)
    busy = [
        first.backlog_bytes > let_through + off
        for (first, _), let_through in zip(pairwise(use.readings), np.diff(passed), strict=True)
    ]
    low = float(np.sum(np.diff(passed)[busy])) * (1 - RATE_TOLERANCE) - off * max(_runs(busy), 1)
    return LinkCheck(
        quantity="rate",
        direction=use.direction,
        source="trial",
        asked=asked * 8 / seconds,
        delivered=carried * 8 / seconds,
        low=low * 8 / seconds,
        high=(asked * (1 + RATE_TOLERANCE) + off) * 8 / seconds,
        detail=f"{use.queue}: sum of the recorded trace's steps, packets waited in {sum(busy)} of {len(busy)} samples",
    )


def _passed_bytes(use: TraceUse, times_ns: np.ndarray) -> np.ndarray:
    """Bytes that may have passed since the trace began, at each time; negative before it."""
    since = (times_ns - use.begins_ns) / 1e9
    counts = _counts(use, float(since.max()))
    edges = np.arange(len(counts) + 1) * use.trace.step
    within = np.interp(np.maximum(since, 0.0), edges, np.concatenate([[0], np.cumsum(counts)]))
    found: np.ndarray = np.where(since < 0, since * use.rate_before / 8, within * FULL_FRAME)
    return found


def _counts(use: TraceUse, until_s: float) -> np.ndarray:
    """Frames that the trace lets through in each of its steps, until some seconds after it began."""
    trace = getattr(use.trace, use.direction)
    counts: np.ndarray = trace.counts(step_s=use.trace.step, until_s=max(until_s, use.trace.step))
    return counts


def _off_bytes(use: TraceUse, until_s: float) -> float:
    """By how much a count may differ without a fault, at the two ends of a time together."""
    top = max(float(_counts(use, until_s).max()) * FULL_FRAME / use.trace.step, use.rate_before / 8)
    return _FRAMES_OFF * FULL_FRAME + kernel.burst_bytes(top * 8) + top * (_READING_S + max(use.late_s, 0.0))


def _runs(busy: Sequence[bool]) -> int:
    """How many times without a pause there are."""
    return sum(now and not before for before, now in pairwise([False, *busy]))
