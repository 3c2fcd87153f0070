"""Exact percentiles of one trial's messages, all pooled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.statistics.students import ONE_SIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentile:
    """value: with linear interpolation.  low, high: its 95 % interval by order statistics, None where there are too
    few values for that end.

    The interval describes one trial: it takes messages as independent, which those of one trial are not.  Intervals
    to compare with come from trials.
    """

    value: float
    low: float | None
    high: float | None


def percentile(ordered: np.ndarray, share: float) -> Percentile:
    """The percentile at `share` (0 to 1, both excluded) of ascending, not empty values; no distribution is assumed."""
    from scipy.special import bdtr  # noqa: PLC0415

    n = len(ordered)
    reach = math.ceil(8 * math.sqrt(n * share * (1 - share))) + 8
    ranks = np.arange(max(0, math.floor(n * share) - reach), min(n, math.ceil(n * share) + reach) + 1)
    at_most = bdtr(ranks.astype(float), n, share)  # the probability that so many values or fewer lie below
    # The k-th smallest value is above the percentile when fewer than k values lie below it.
    below, above = ranks[at_most <= ONE_SIDED], ranks[at_most >= 1 - ONE_SIDED]
    low = int(below[-1]) if len(below) else None
    high = int(above[0]) if len(above) and above[0] < n else None
    return Percentile(
        value=_value(ordered, share),
        low=None if low is None else float(ordered[low]),
        high=None if high is None else float(ordered[high]),
    )


def _value(ordered: np.ndarray, share: float) -> float:
    """By linear interpolation; infinite where a rank that it needs is."""
    place = share * (len(ordered) - 1)
    return float(np.quantile(ordered, share)) if np.isfinite(ordered[math.ceil(place)]) else math.inf
