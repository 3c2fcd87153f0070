"""How far a second group of trials is from a first: paired on equal seeds, or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.students import deviation, t_quantile, upper_tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Second minus first.  n: trials of the first and of the second group; they are equal when paired.

    error: standard error of `centre`, None when there are too few trials for one.  freedom: degrees of freedom.
    """

    n: tuple[int, int]
    paired: bool
    centre: float
    error: float | None
    freedom: float = 0.0

    @property
    def half_width(self) -> float | None:
        """Of the 95 % interval: also the smallest difference that these trials could have shown."""
        return None if self.error is None else t_quantile(self.freedom) * self.error if self.error else 0.0

    @property
    def low(self) -> float | None:
        """Lower end of the 95 % interval."""
        return None if (half := self.half_width) is None else self.centre - half

    @property
    def high(self) -> float | None:
        """Upper end of the 95 % interval."""
        return None if (half := self.half_width) is None else self.centre + half

    @property
    def differs(self) -> bool | None:
        """Whether the interval leaves 0 out; None when there is no interval."""
        return None if (half := self.half_width) is None else abs(self.centre) > half

    def p_above(self, limit: float) -> float:
        """p of the one-sided test against `true difference <= limit`; 1 when nothing can be tested."""
        if self.error is None:
            return 1.0
        if self.error == 0:
            return 0.0 if self.centre > limit else 1.0
        return upper_tail((self.centre - limit) / self.error, self.freedom)

    def p_below(self, limit: float) -> float:
        """p of the one-sided test against `true difference >= limit`; 1 when nothing can be tested."""
        if self.error is None:
            return 1.0
        if self.error == 0:
            return 0.0 if self.centre < limit else 1.0
        return upper_tail((limit - self.centre) / self.error, self.freedom)


def paired(pairs: Sequence[tuple[float, float]]) -> Contrast | None:
    """Mean of second minus first over pairs of equal seed; None when there are none."""
    if not pairs:
        return None
    values = np.asarray(pairs, dtype=float)
    differences = values[:, 1] - values[:, 0]
    n, centre = len(pairs), float(differences.mean())
    if n < 2:
        return Contrast(n=(1, 1), paired=True, centre=centre, error=None)
    error = deviation(differences, scale=float(np.abs(values).max())) / math.sqrt(n)
    return Contrast(n=(n, n), paired=True, centre=centre, error=error, freedom=n - 1)


def unpaired(first: Sequence[float], second: Sequence[float]) -> Contrast | None:
    """Difference of means of two independent groups (Welch 1947: spreads need not be equal)."""
    if not first or not second:
        return None
    n = (len(first), len(second))
    centre = float(np.mean(second) - np.mean(first))
    if min(n) < 2:
        return Contrast(n=n, paired=False, centre=centre, error=None)
    parts = [deviation(group) ** 2 / len(group) for group in (first, second)]
    total = sum(parts)
    below = sum(part**2 / (count - 1) for part, count in zip(parts, n, strict=True))
    freedom = total**2 / below if below else float(sum(n) - 2)
    return Contrast(n=n, paired=False, centre=centre, error=math.sqrt(total), freedom=freedom)
