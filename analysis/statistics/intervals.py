"""Means over trials with their t intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.students import half_width


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Mean of n trials; half_width: of its 95 % confidence interval, None when n is below 2."""

    n: int
    mean: float
    half_width: float | None

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half_width is None else self.mean + self.half_width


def estimate(values: Sequence[float]) -> Estimate | None:
    """Mean and t interval of `values`, one per trial; None when there are none."""
    if not values:
        return None
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(n=1, mean=mean, half_width=None)
    return Estimate(n=len(values), mean=mean, half_width=half_width(values))
