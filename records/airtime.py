"""What frames cost on a medium: the time of their bits at the rate that held, and a time of their own beside it.

Everything that speaks of a rate asks here: profiles, the proof of a link, trials and their analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Steps:
    """What a medium has over time.  since_s: seconds, ascending; what the first says holds before it, too.

    rate: bit/s from then on, 0 = nothing may pass.  overhead: seconds that each frame takes beside its bits.
    """

    since_s: np.ndarray
    rate: np.ndarray
    overhead: np.ndarray = field(default_factory=lambda: np.zeros(1))


def constant(rate: float, overhead: float = 0.0) -> Steps:
    """A medium that never changes: bit/s, seconds a frame."""
    return Steps(np.zeros(1), np.array([rate]), np.array([overhead]))


def airtime(frame_bytes: Any, *, rate: Any, overhead: Any) -> Any:
    """Seconds for which a frame (bytes at layer 2) occupies a medium (bit/s, seconds a frame).

    Numbers or arrays; infinite where the rate is 0.
    """
    if isinstance(rate, float) and isinstance(overhead, float) and isinstance(frame_bytes, int):  # ten times as fast
        return overhead + frame_bytes * 8.0 / rate if rate else np.inf
    with np.errstate(divide="ignore"):
        return overhead + np.divide(np.multiply(frame_bytes, 8.0), rate)


def capacity(steps: Steps, t_s: np.ndarray) -> np.ndarray:
    """Bits that could pass from the first step until `t_s` (negative before it), if frames had no overhead."""
    passed = np.concatenate([[0.0], np.cumsum(steps.rate[:-1] * np.diff(steps.since_s))])
    at = _in_force(steps, t_s)
    bits: np.ndarray = passed[at] + steps.rate[at] * (t_s - steps.since_s[at])
    return bits


def carried(steps: Steps, t_s: np.ndarray, sent_bytes: np.ndarray, sent_frames: np.ndarray) -> np.ndarray:
    """Bits that could have passed in the time that frames took, from the first reading of a queue's counters to each.

    A queue that was never empty has carried what `capacity` gives, however small its frames are and whatever has
    changed meanwhile.  t_s: of the readings, ascending, as are the two counters.  Frames between two readings are
    taken to be of one size; with a reading every 250 ms that matters in those in which something changes only.
    """
    bits, frames = np.diff(sent_bytes) * 8.0, np.diff(sent_frames)
    inner = steps.since_s[(steps.since_s > t_s[0]) & (steps.since_s < t_s[-1])]
    cuts = np.union1d(t_s, inner)
    reading = np.searchsorted(t_s, cuts[:-1], side="right") - 1
    size = np.divide(bits / 8, frames, out=np.zeros(len(bits)), where=frames > 0)
    at, length = _in_force(steps, cuts[:-1]), np.diff(cuts)
    overhead = np.broadcast_to(steps.overhead, steps.rate.shape)[at]
    took = airtime(size[reading], rate=steps.rate[at], overhead=overhead)
    could = np.bincount(reading, steps.rate[at] * length, len(bits))
    fitted = np.bincount(reading, np.divide(length, took, out=np.zeros(len(took)), where=took > 0), len(bits))
    worth = np.divide(frames * could, fitted, out=bits.astype(float), where=(fitted > 0) & (frames > 0))
    return np.concatenate([[0.0], np.cumsum(worth)])


def _in_force(steps: Steps, t_s: np.ndarray) -> np.ndarray:
    return np.maximum(np.searchsorted(steps.since_s, t_s, side="right") - 1, 0)
