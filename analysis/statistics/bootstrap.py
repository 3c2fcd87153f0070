"""Bootstrap intervals of a mean over trials, the same each time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from analysis.statistics.students import deviation, t_factor

# Simulated (docs/statistics.md), this interval covers 91 % of normal and 90 % of log-normal means with 5 trials, 95 and
# 92 % with 8, as Student's does; with 4 it covered 87 and 85 %, with 3 no bootstrap reached 80 %.
FEWEST = 5
_RESAMPLES, _SEED = 4000, 20050
_ROUNDING = 1e-9  # a resample whose mean is nearer than this, in standard deviations, has the same mean


def bootstrap_mean(values: Sequence[float]) -> tuple[float, float] | None:
    """Ends of a 95 % interval of the mean; None below 5 values, where resampling says less than it promises.

    Bias-corrected and accelerated (Efron 1987), its levels widened for small samples as the t interval's are
    (Hesterberg 2015, section 5.3): without that, means of 5 trials are covered 83 times of 100.
    """
    return _bootstrap(tuple(map(float, values)))


@lru_cache(maxsize=20_000)  # a report asks for the same mean in its page, its tables and its plots
def _bootstrap(values: tuple[float, ...]) -> tuple[float, float] | None:
    array = np.asarray(values)
    n = len(array)
    if n < FEWEST:
        return None
    mean = float(array.mean())
    spread = deviation(array)
    if spread == 0:
        return mean, mean
    from scipy.special import ndtr, ndtri  # noqa: PLC0415

    means = np.sort(array[_draws(n)].mean(axis=1))
    sides = np.where(np.abs(means - mean) <= _ROUNDING * spread, 0, np.sign(means - mean))
    below = float((1 - sides).mean()) / 2
    bias = float(ndtri(min(max(below, 1 / _RESAMPLES), 1 - 1 / _RESAMPLES)))
    reach = np.sqrt(n / (n - 1)) * t_factor(n)
    shifted = bias + np.array([-reach, reach])
    levels = ndtr(bias + shifted / (1 - _acceleration(array) * shifted))
    low, high = np.quantile(means, levels)
    return float(low), float(high)


def _acceleration(array: np.ndarray) -> float:
    """From the means that leave one value out."""
    away = (array - array.mean()) / (len(array) - 1)
    return float((away**3).sum() / (6 * (away**2).sum() ** 1.5))


@lru_cache(maxsize=64)
def _draws(n: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(_SEED)).integers(0, n, (_RESAMPLES, n))
