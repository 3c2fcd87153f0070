"""Ratios of one group of trials to another: differences of logarithms, taken back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.statistics.contrasts import Contrast, paired
from analysis.statistics.shares import Count, never_certain


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Geometric mean of n paired ratios and its 95 % interval; undefined says why there is no ratio.

    low and high are None when n is below 2: one pair has no spread.
    """

    n: int
    ratio: float | None
    low: float | None = None
    high: float | None = None
    undefined: str | None = None

    @property
    def differs(self) -> bool | None:
        """Whether the interval leaves 1 out; None when there is no interval."""
        if self.low is None or self.high is None:
            return None
        return self.low > 1 or self.high < 1

    @property
    def detectable(self) -> float | None:
        """The smallest factor (above 1) that would have shown, either way: the interval's half width."""
        if self.low is None or self.high is None or self.low <= 0:
            return None
        return math.sqrt(self.high / self.low) if math.isfinite(self.high) else math.inf


def paired_ratio(pairs: Sequence[tuple[float, float]], counts: Sequence[Sequence[Count]] = ()) -> Ratio:
    """Ratio of second to first over pairs of equal seed: a t interval on the logarithms, taken back.

    counts: of both groups, where their values are shares of what was counted.
    """
    if not pairs:
        return Ratio(n=0, ratio=None, undefined="no two valid trials share a seed")
    if zeros := sum(first <= 0 or second <= 0 for first, second in pairs):
        return Ratio(n=len(pairs), ratio=None, undefined=f"{zeros} of {len(pairs)} pairs hold a zero")
    return ratio_of(paired_logarithms(pairs, counts))


def paired_logarithms(pairs: Sequence[tuple[float, float]], counts: Sequence[Sequence[Count]] = ()) -> Contrast:
    """The contrast whose ratio that is.  ValueError without pairs, or where one has no logarithm."""
    found = paired([(math.log(first), math.log(second)) for first, second in pairs])
    if found is None:
        raise ValueError("no pairs, no ratio")
    return never_certain(found, *counts, logarithms=True)


def ratio_of(logarithms: Contrast) -> Ratio:
    """The ratio whose logarithm is contrasted."""
    n, low, high = min(logarithms.n), logarithms.low, logarithms.high
    if low is None or high is None:
        return Ratio(n=n, ratio=_exp(logarithms.centre))
    return Ratio(n=n, ratio=_exp(logarithms.centre), low=_exp(low), high=_exp(high))


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
