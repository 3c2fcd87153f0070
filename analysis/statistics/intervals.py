"""Means over trials with their 95 % intervals, which stay where the quantity can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.statistics.bootstrap import bootstrap_mean
from analysis.statistics.students import deviation, half_width, t_factor

Support = Literal["any", "positive", "share"]
"""Which values a quantity can have: all, those that are not negative, or those from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Mean of n trials; low, high: ends of its 95 % interval, None where there is none (n is 1, or a lower bound).

    The interval need not be symmetric: whoever estimates says where it ends.  at_least: the mean is a lower bound of
    what was asked, since something that counts in it had not arrived when its trial ended; then there is no interval.
    """

    n: int
    mean: float
    low: float | None
    high: float | None
    at_least: bool = False


def estimate(values: Sequence[float], support: Support = "any") -> Estimate | None:
    """Mean and interval of `values`, one per trial; None when there are none.

    any: Student's t.  Else from 5 values on the bootstrap, below that Student's t on logarithms (of odds, for
    shares); where a value is 0, or a share 1, and has no logarithm, Student's t as far as the quantity goes.
    """
    if not values:
        return None
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(n=1, mean=mean, low=None, high=None)
    low, high = _ends(values, mean, support)
    return Estimate(n=len(values), mean=mean, low=min(low, mean), high=max(high, mean))


def _ends(values: Sequence[float], mean: float, support: Support) -> tuple[float, float]:
    if support == "any" or min(values) < 0:
        half = half_width(values)
        return mean - half, mean + half
    if deviation(values) == 0:
        return mean, mean
    if (resampled := bootstrap_mean(values)) is not None:
        return resampled
    if support == "positive" and min(values) > 0:
        return _transformed([math.log(value) for value in values], _exp)
    if support == "share" and min(values) > 0 and max(values) < 1:
        return _transformed([math.log(value) - math.log1p(-value) for value in values], _share)
    half = half_width(values)
    return max(0.0, mean - half), min(mean + half, 1.0 if support == "share" and max(values) <= 1 else math.inf)


def _transformed(values: Sequence[float], back: Callable[[float], float]) -> tuple[float, float]:
    """The t interval of transformed values, taken back.  Below 5 values it always holds their plain mean."""
    centre = float(np.mean(values))
    half = t_factor(len(values)) * deviation(values) / math.sqrt(len(values))
    return back(centre - half), back(centre + half)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def _share(odds: float) -> float:
    return 1 / (1 + _exp(-odds))
