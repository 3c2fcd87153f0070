"""What probes of a link may show when it does what was asked: intervals, so that chance is not taken for a fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emulation.plan import loss
from emulation.profile import distribution
from emulation.profile.direction import DirectionProfile
from emulation.profile.lossmodel import GilbertElliott, LossModel, RecordedLosses

# A link that is as asked is found faulty by one check in this many, both ends of an interval together.
_FALSE_ALARMS = 1e-5
_REPLICATES = 2000
# Of what is not computed: so many runs, and so many standard deviations, which chance leaves once in 500,000 times.
_RUNS_THROUGH, _SPREADS = 400, 5
_HEADERS_SHARE = 0.2  # of a small frame's bits, those whose change nobody notices: Ethernet source, padding


@dataclass(frozen=True, slots=True)
class Interval:
    """low to high, both included."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """Half way between both."""
        return (self.low + self.high) / 2


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


def delays(*sides: DirectionProfile, packets: int, spacing_s: float) -> np.ndarray:
    """One-way delays (s) of packets sent `spacing_s` apart, in many runs: an array (runs, packets).

    What netem does: each delay is drawn; where order is kept, a packet leaves after those before it; where
    packets are let through at once (reordering), these do not count.  sides: the directions that a packet meets.
    """
    chance = np.random.Generator(np.random.PCG64(1))
    runs = _REPLICATES if any(map(_by_chance, sides)) else 1
    sent = np.broadcast_to(np.arange(packets) * spacing_s, (runs, packets))
    first, *others = sides
    now = _through_one(first, sent, chance)
    for side in others:
        order = np.argsort(now, axis=1, kind="stable")
        left = _through_one(side, np.take_along_axis(now, order, axis=1), chance)
        np.put_along_axis(now, order, left, axis=1)
    found: np.ndarray = now - sent
    return found


def _by_chance(side: DirectionProfile) -> bool:
    """Whether packets meet delays that differ."""
    return bool(side.jitter or side.reorder)


def _through_one(side: DirectionProfile, came: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """When packets leave a direction that come to it in this order."""
    if not _by_chance(side):
        return came + side.delay
    leaves = came + np.maximum(chance.choice(distribution.drawn(side), came.shape), 0)
    early = chance.random(leaves.shape) < side.reorder
    if side.keep_order:
        leaves = np.maximum.accumulate(np.where(early, 0, leaves), axis=1)
    return np.where(early, came, leaves)


def through(sides: Sequence[DirectionProfile], listed: loss.SeededLosses, *, packets: int) -> tuple[Interval, Interval]:
    """How many of `packets` packets do not come through directions one after the other, and how many copies do.

    listed: the losses of the first direction; the others lose by their models.  Damage is noticed, or is not.
    """
    missing, copies = [], []
    first = (~listed.lists(np.arange(packets))).astype(np.int64)
    for run in range(_RUNS_THROUGH):
        chance = np.random.Generator(np.random.PCG64(run))
        noticed = 1 - _HEADERS_SHARE * (run % 2)
        sound = np.ones(packets, dtype=np.int64)
        for place, side in enumerate(sides):
            came = int(sound.sum())
            kept = first
            if place:
                lost = loss.expand(side.loss, seed=run, direction="downlink", modulus=max(came, 1))
                kept = (~lost.lists(np.arange(came))).astype(np.int64)
            kept = kept + chance.binomial(kept, side.duplicate)
            whose = np.repeat(np.arange(packets), sound)
            sound = np.bincount(whose, chance.binomial(kept, 1 - noticed * side.corrupt), packets).astype(np.int64)
        missing.append(int(np.count_nonzero(sound == 0)))
        copies.append(int(np.maximum(sound - 1, 0).sum()))
    return _about(missing), _about(copies)


def _about(counts: Sequence[int]) -> Interval:
    """An interval that is wide enough for counts like these, were there many more of them."""
    mean, spread = float(np.mean(counts)), float(np.std(counts))
    return Interval(max(mean - _SPREADS * spread - 1, 0), mean + _SPREADS * spread + 1)


def delay(runs: np.ndarray, share: float) -> Interval:
    """Quantiles of this share that runs of `delays` have."""
    found = np.quantile(runs, share, axis=1)
    return Interval(float(found.min()), float(found.max()))


def spread(runs: np.ndarray) -> Interval:
    """Interquartile ranges that runs of `delays` have."""
    low, high = np.percentile(runs, [25, 75], axis=1)
    return Interval(float((high - low).min()), float((high - low).max()))
