"""How precise a mean over trials is: half the width of its 95 % interval by Student's t.

scipy is imported when it is needed: a third of a second that most callers can do without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

CONFIDENCE = 0.95
ONE_SIDED = (1 - CONFIDENCE) / 2  # the level of a one-sided test that agrees with a two-sided interval
_ROUNDING = 1e-12  # equal values differ by this much after floating-point arithmetic


def t_quantile(freedom: float, *, beyond: float = ONE_SIDED) -> float:
    """Student's t that is exceeded with probability `beyond`; by itself that of a two-sided 95 % interval.

    Degrees of freedom need not be whole (Welch).
    """
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(freedom, 1 - beyond))


def deviation(values: Sequence[float] | np.ndarray, *, scale: float | None = None) -> float:
    """Sample standard deviation (n - 1); exactly 0 where only rounding makes the values differ.

    scale: size of the numbers that the values were calculated from, when that is larger than they are.
    """
    array = np.asarray(values, dtype=float)
    spread = float(array.std(ddof=1))
    return 0.0 if spread <= _ROUNDING * max(float(np.abs(array).max()), scale or 0.0) else spread


def half_width(values: Sequence[float]) -> float:
    """Half the 95 % t interval of the mean of at least two values."""
    return t_quantile(len(values) - 1) * (deviation(values) / math.sqrt(len(values)))
