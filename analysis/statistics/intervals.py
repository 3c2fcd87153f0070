"""Means over trials with their t intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.students import half_width


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Mean of n trials; low, high: ends of its 95 % confidence interval, None when n is below 2.

    at_least: the mean is a lower bound, since something that counts in it had not arrived when its trial ended; then
    there is no interval.
    """

    n: int
    mean: float
    low: float | None
    high: float | None
    at_least: bool = False

    @property
    def half_width(self) -> float | None:
        """Half the interval's width; None without one."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def estimate(values: Sequence[float]) -> Estimate | None:
    """Mean and t interval of `values`, one per trial; None when there are none."""
    if not values:
        return None
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(n=1, mean=mean, low=None, high=None)
    half = half_width(values)
    return Estimate(n=len(values), mean=mean, low=mean - half, high=mean + half)
