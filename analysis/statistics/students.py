"""Student's t, as records.precision has it for whoever runs trials, and what only an analysis needs of it."""

from __future__ import annotations

from records.precision import CONFIDENCE, ONE_SIDED, deviation, half_width, t_quantile

__all__ = ["CONFIDENCE", "ONE_SIDED", "deviation", "half_width", "t_factor", "t_quantile", "upper_tail"]


def t_factor(n: int) -> float:
    """Student's t for a two-sided 95 % interval over n values."""
    return t_quantile(n - 1)


def upper_tail(t: float, freedom: float) -> float:
    """The probability that Student's t exceeds `t`."""
    from scipy.special import stdtr  # noqa: PLC0415

    return float(stdtr(freedom, -t))
