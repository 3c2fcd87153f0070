"""A medium that is never idle, frame by frame: what readings of its counters say, by a rule of its own."""

from __future__ import annotations

import numpy as np

from records.airtime import Steps


def saturated(
    steps: Steps, sizes: tuple[int, ...], *, until_s: float, every_s: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Readings (s, bytes, frames) of a queue that sends frames of these sizes (bytes) in turn from 0 s on.

    A frame takes what it takes at the rate and overhead that held when it began.
    """
    now, sent, frames = 0.0, 0, 0
    done = [(0.0, 0, 0)]
    while now < until_s:
        size, step = sizes[frames % len(sizes)], max(int(np.searchsorted(steps.since_s, now, side="right")) - 1, 0)
        now += steps.overhead[step] + size * 8 / steps.rate[step]
        sent, frames = sent + size, frames + 1
        done.append((now, sent, frames))
    ends, sent_bytes, counts = (np.array(column) for column in zip(*done, strict=True))
    times = np.arange(0, until_s + every_s / 2, every_s)
    at = np.searchsorted(ends, times, side="right") - 1
    return times, sent_bytes[at], counts[at]
