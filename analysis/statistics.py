"""Means and ratios with intervals.  The unit of replication is the trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
_ROUNDING = 1e-12  # equal values differ by this much after floating-point arithmetic


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


def t_factor(n: int) -> float:
    """Student's t for a two-sided 95 % interval over n values."""
    from scipy.special import stdtrit  # noqa: PLC0415 - a third of a second that most callers do not need

    return float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))


def estimate(values: Sequence[float]) -> Estimate | None:
    """Mean and t interval of `values`, one per trial; None when there are none."""
    return _estimate(values) if values else None


def _estimate(values: Sequence[float]) -> Estimate:
    array = np.asarray(values, dtype=float)
    mean = float(array.mean())
    if len(array) < 2:
        return Estimate(n=1, mean=mean, half_width=None)
    spread = float(array.std(ddof=1)) / math.sqrt(len(array))
    if spread <= _ROUNDING * float(np.abs(array).max()):
        spread = 0.0
    return Estimate(n=len(array), mean=mean, half_width=t_factor(len(array)) * spread)


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Ratio of second to first over pairs of equal seed: a t interval on the logarithms, taken back."""
    if not pairs:
        return Ratio(n=0, ratio=None, undefined="no two valid trials share a seed")
    if any(first <= 0 or second <= 0 for first, second in pairs):
        zeros = sum(1 for first, second in pairs if first <= 0 or second <= 0)
        return Ratio(n=len(pairs), ratio=None, undefined=f"{zeros} of {len(pairs)} pairs hold a zero")
    logs = _estimate([math.log(second) - math.log(first) for first, second in pairs])
    if logs.low is None or logs.high is None:
        return Ratio(n=logs.n, ratio=math.exp(logs.mean))
    return Ratio(n=logs.n, ratio=_exp(logs.mean), low=_exp(logs.low), high=_exp(logs.high))


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
