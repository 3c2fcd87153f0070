"""Shares of things that are counted: intervals that know how many were looked at, also where none was found.

Clopper and Pearson's exact interval (1934).  Messages of one trial share its losses, so where trials differ by more
than chance allows, the number looked at is replaced by the one that would spread as they do (Korn and Graubard 1998).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.statistics.contrasts import Contrast
from analysis.statistics.intervals import Estimate
from analysis.statistics.students import CONFIDENCE, ONE_SIDED, t_factor

# Trials count as different when chance alone makes their counts differ so less often than this.  At 30 % a
# single one found in all trials never does, and trials that do differ are covered better than at the usual 10 or 5 %
# (benchmarks/statistics_simulated.py).
_APART = 0.3
_GRAIN = 0.1  # of what one found more would change: a spread below it is that of how many were looked at
_MANY = 1e9  # degrees of freedom of a normal distribution
_ONE = 1 - 1e-9  # 1 / 260 of 260 may round to less than one


@dataclass(frozen=True, slots=True)
class Count:
    """How many of how many, in one trial.  worth: what a share of 1 is in the metric's unit, of numbers `of`."""

    found: float
    of: float
    worth: float = 1.0

    @property
    def value(self) -> float:
        """The metric's."""
        return self.found * self.worth / self.of


def worth(counts: Sequence[Count]) -> float:
    """What a share of 1 is in the metric's unit, mean over trials."""
    return math.fsum(one.worth for one in counts) / len(counts)


def share(counts: Sequence[Count]) -> Estimate | None:
    """Mean of the trials' shares, or of what they are worth, with its interval; None when no trial has anything to
    count, or more found than there was.

    Where nothing was found the upper end is the one-sided 95 % bound, 3 / n: 130 and 130 without a loss leave 1.1 %.
    """
    looked = [one for one in counts if one.of > 0]
    if not looked or any(not 0 <= one.found <= one.of for one in looked):
        return None
    mean, middle = (
        float(np.mean(each)) for each in zip(*((one.found / one.of, one.value) for one in looked), strict=True)
    )
    if len(looked) < 2:
        return Estimate(n=1, mean=middle, low=None, high=None)
    low, high = (end * worth(looked) for end in _exact(mean, _size(looked, mean)))
    return Estimate(n=len(looked), mean=middle, low=min(low, middle), high=max(high, middle))


def never_certain(
    found: Contrast, *groups: Sequence[Count], weights: Sequence[float] | None = None, logarithms: bool = False
) -> Contrast:
    """The contrast of groups' shares (of one with a number); where it did not spread, or only because not everywhere as
    many were looked at, as uncertain as the counts leave it.

    weights: what each group's share is multiplied by, if not by 1 or -1.  logarithms: the contrast is of theirs, whose
    variance is the share's by its square (delta method).

    One found and one not found are added to each group, so that nothing found is not certainty (Agresti and Caffo
    2000).  Where pairs of equal seeds do spread, their spread says more: both sides lost the same packets.
    """
    if found.error is None or not groups or not all(groups):
        return found
    taken = weights or [1.0] * len(groups)
    if found.error * math.sqrt(min(found.n)) > _GRAIN * _one_more(groups, taken, logarithms=logarithms) and any(
        len({one.found for one in group}) > 1 for group in groups
    ):
        return found
    parts = [by**2 * _variance(one, logarithms=logarithms) for by, one in zip(taken, groups, strict=True)]
    by_counts = replace(found, error=math.sqrt(math.fsum(parts)), freedom=_MANY)
    return max(found, by_counts, key=lambda one: one.half_width or 0.0)


def _one_more(groups: Sequence[Sequence[Count]], weights: Sequence[float], *, logarithms: bool) -> float:
    """By how much one found more, or less, in one trial would change its part of the contrast: by the most of them."""
    return max(
        abs(by) * (1 / max(float(np.mean([one.found for one in group])), 1.0) if logarithms
                   else max(one.worth / one.of for one in group))
        for by, group in zip(weights, groups, strict=True)
    )  # fmt: skip


def _variance(counts: Sequence[Count], *, logarithms: bool) -> float:
    of = sum(one.of for one in counts) + 2
    middle = min((sum(one.found for one in counts) + 1) / of, _ONE)  # copies can be more than there were messages
    return middle * (1 - middle) / of * (1 / middle**2 if logarithms else worth(counts) ** 2)


def _size(counts: Sequence[Count], mean: float) -> float:
    """How many independent messages would tell as much about the mean of the trials' shares."""
    total, found = sum(one.of for one in counts), sum(one.found for one in counts)
    if found in (0, total):
        return total
    n = len(counts)
    independent = n**2 / sum(1 / one.of for one in counts)
    if not _differ(counts, found / total):
        return independent
    spread = float(np.var([one.found / one.of for one in counts], ddof=1)) / n
    few = (t_factor(max(2, round(total))) / t_factor(n)) ** 2
    return max(min(independent, mean * (1 - mean) / spread) * few, 1.0)


def _differ(counts: Sequence[Count], pooled: float) -> bool:
    """Pearson's test that all trials have one share."""
    from scipy.special import chdtrc  # noqa: PLC0415

    squares = sum((one.found - one.of * pooled) ** 2 / (one.of * pooled * (1 - pooled)) for one in counts)
    return bool(chdtrc(len(counts) - 1, squares) < _APART)


def _exact(mean: float, size: float) -> tuple[float, float]:
    """Clopper and Pearson's interval; at 0 and at 1 all of the error is on the one side that there is.

    A size that is no count can hold less than one that was found: what that bounds from below is nothing.
    """
    from scipy.special import betaincinv  # noqa: PLC0415

    beyond = float((1 - CONFIDENCE) ** (1 / size))
    if mean == 0:
        return 0.0, 1 - beyond
    if mean == 1:
        return beyond, 1.0
    k = mean * size
    low = 0.0 if k < _ONE else float(betaincinv(k, size - k + 1, ONE_SIDED))
    high = 1.0 if size - k < _ONE else float(betaincinv(k + 1, size - k, 1 - ONE_SIDED))
    return low, high
