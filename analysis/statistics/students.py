"""Student's t.  scipy is imported when it is needed: a third of a second that most callers can do without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CONFIDENCE = 0.95
ONE_SIDED = (1 - CONFIDENCE) / 2  # the level of a one-sided test that agrees with a two-sided interval
_ROUNDING = 1e-12  # equal values differ by this much after floating-point arithmetic


def t_factor(n: int) -> float:
    """Student's t for a two-sided 95 % interval over n values."""
    return t_quantile(n - 1)


def t_quantile(freedom: float) -> float:
    """Student's t for a two-sided 95 % interval; degrees of freedom need not be whole (Welch)."""
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(freedom, 1 - ONE_SIDED))


def upper_tail(t: float, freedom: float) -> float:
    """The probability that Student's t exceeds `t`."""
    from scipy.special import stdtr  # noqa: PLC0415

    return float(stdtr(freedom, -t))


def deviation(values: Sequence[float] | np.ndarray, *, scale: float | None = None) -> float:
    """Sample standard deviation (n - 1); exactly 0 where only rounding makes the values differ.

    scale: size of the numbers that the values were calculated from, when that is larger than they are.
    """
    array = np.asarray(values, dtype=float)
    spread = float(array.std(ddof=1))
    return 0.0 if spread <= _ROUNDING * max(float(np.abs(array).max()), scale or 0.0) else spread
