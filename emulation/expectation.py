"""What probes of a link may show when it does what was asked: intervals, so that chance is not taken for a fault."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulation import distribution, loss
from emulation.direction import DirectionProfile
from emulation.lossmodel import GilbertElliott, LossModel, RecordedLosses

# A link that is as asked is found faulty by one check in this many, both ends of an interval together.
_FALSE_ALARMS = 1e-5
_REPLICATES = 2000
_HEADERS_SHARE = 0.2  # of a small frame's bits, those whose change nobody notices: Ethernet source, padding


@dataclass(frozen=True, slots=True)
class Interval:
    """low to high, both included."""

    low: float
    high: float


def binomial(n: int, share: float) -> Interval:
    """How many of `n` packets a thing happens to that happens to each with chance `share`."""
    if not share:
        return Interval(0, 0)
    from scipy.special import bdtr  # noqa: PLC0415 - takes a quarter of a second, which most commands can do without

    at_most = bdtr(np.arange(n + 1), n, share)
    low, high = np.searchsorted(at_most, [_FALSE_ALARMS / 2, 1 - _FALSE_ALARMS / 2])
    return Interval(float(low), float(min(high, n)))


def losses(model: LossModel, packets: int) -> Interval:
    """How many of `packets` packets a loss model loses; of a record it is certain."""
    if isinstance(model, GilbertElliott | RecordedLosses):
        seeds = range(1 if isinstance(model, RecordedLosses) else _REPLICATES)
        drawn = [loss.expand(model, seed=seed, direction="uplink", modulus=packets) for seed in seeds]
        counts = [one.dropped_of(packets) for one in drawn]
        return Interval(min(counts), max(counts))
    return binomial(packets, model)


def corrupted(n: int, share: float) -> Interval:
    """How many of `n` small packets do not arrive, because a bit was turned over where a checksum tells."""
    return Interval(binomial(n, share * (1 - _HEADERS_SHARE)).low, binomial(n, share).high)


def delays(side: DirectionProfile, *, packets: int, spacing_s: float) -> np.ndarray:
    """One-way delays (s) of packets sent `spacing_s` apart, in many runs: an array (runs, packets).

    What netem does: each delay is drawn; where order is kept, a packet leaves after those before it; where
    packets are let through at once (reordering), these do not count.
    """
    chance = np.random.Generator(np.random.PCG64(1))
    drawn = chance.choice(distribution.drawn(side), (_REPLICATES, packets))
    sent = np.arange(packets) * spacing_s
    leaves = sent + np.maximum(drawn, 0)
    early = chance.random(leaves.shape) < side.reorder
    if side.keep_order:
        leaves = np.maximum.accumulate(np.where(early, 0, leaves), axis=1)
    found: np.ndarray = np.where(early, 0, leaves - sent)
    return found


def median_delay(runs: np.ndarray) -> Interval:
    """Medians that runs of `delays` have."""
    medians = np.median(runs, axis=1)
    return Interval(float(medians.min()), float(medians.max()))


def spread(runs: np.ndarray) -> Interval:
    """Interquartile ranges that runs of `delays` have."""
    low, high = np.percentile(runs, [25, 75], axis=1)
    return Interval(float((high - low).min()), float((high - low).max()))
