"""Whether two ways of doing the same give the same: equivalence of ratios, looked at while trials are added.  Pure.

Two one-sided tests (Schuirmann 1987), as an interval: two ways are equal when the whole interval of their ratio lies
within the margin, and not equal when all of it lies outside.  Who looks several times and stops when the answer suits
would err too often, so intervals are repeated confidence intervals (Jennison and Turnbull, JRSS B 51, 1989; for
equivalence Biometrics 49, 1993): all looks' intervals hold the truth together in 95 % of all cases, however many looks
are taken.  Bonferroni makes them so: each of K looks has a level of 0.05 / K.  That is exact for few trials, too, where
boundaries that are computed for known spreads are not, and costs little, since t shrinks faster than it grows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from records.precision import ONE_SIDED, deviation, t_quantile
from records.record import Record

MARGIN = 0.03
FEWEST = 3  # pairs: an interval of two is a guess


class Answer(StrEnum):
    """UNDECIDED: these trials cannot tell."""

    EQUAL = "equal"
    DIFFERENT = "not equal"
    UNDECIDED = "undecided"


class Comparison(Record):
    """Geometric mean of n paired ratios and its interval, which is 95 % over all looks; low, high None below FEWEST.

    ratio: None without a pair, or where one holds a zero.  margin: as a share.
    """

    n: int
    ratio: float | None
    low: float | None
    high: float | None
    margin: float

    @property
    def answer(self) -> Answer:
        """Whether the interval lies within 1 / (1 + margin) .. 1 + margin, outside, or neither."""
        if self.low is None or self.high is None:
            return Answer.UNDECIDED
        least, most = 1 / (1 + self.margin), 1 + self.margin
        if least <= self.low and self.high <= most:
            return Answer.EQUAL
        return Answer.DIFFERENT if self.high < least or self.low > most else Answer.UNDECIDED


def looks(least: int, most: int) -> tuple[int, ...]:
    """After how many trials is looked: `least`, then twice as many as before each time, and `most`.

    ValueError when `most` is below `least`, or `least` below 1.
    """
    if not 0 < least <= most:
        raise ValueError(f"the least number of trials is {least}, the most {most}")
    found = [least]
    while found[-1] < most:
        found.append(min(2 * found[-1], most))
    return tuple(found)


def compared(pairs: Sequence[tuple[float, float]], *, looked: int, margin: float = MARGIN) -> Comparison:
    """Second to first over pairs of equal seed.  looked: how many looks are planned in all.

    A t interval on logarithms: how a rate of messages scatters is proportional to it.
    """
    n = len(pairs)
    if not pairs or any(first <= 0 or second <= 0 for first, second in pairs):
        return Comparison(n=n, ratio=None, low=None, high=None, margin=margin)
    logs = np.log(np.asarray(pairs, dtype=float))
    differences = logs[:, 1] - logs[:, 0]
    centre = float(differences.mean())
    if n < FEWEST:
        return Comparison(n=n, ratio=math.exp(centre), low=None, high=None, margin=margin)
    error = deviation(differences, scale=float(np.abs(logs).max())) / math.sqrt(n)
    half = t_quantile(n - 1, beyond=ONE_SIDED / looked) * error if error else 0.0
    low, high = (math.exp(min(centre + side, 700.0)) for side in (-half, half))
    return Comparison(n=n, ratio=math.exp(centre), low=low, high=high, margin=margin)
