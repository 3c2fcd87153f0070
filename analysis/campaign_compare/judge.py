"""Judging one metric of one cell: how far B is from A, and whether that is worse than is tolerated."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.campaign_compare.record import Scale, Verdict
from analysis.compare import counts_of, unequal
from analysis.findings import CellFinding
from analysis.metric import Metric
from analysis.statistics import Contrast, bootstrap_mean, hedges_g, never_certain, paired, paired_effect, unpaired
from analysis.statistics.students import ONE_SIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """contrast, limit and bootstrap (of pairs only) are logarithms where scale is ratio.  None: nothing to contrast.

    bound: ≥ or ≤ where lower bounds stand in B or in A alone: then the contrast decides that direction only.
    unequal: how the guarantees differ, '' where they do not; if they do, neither is worse and neither is better.
    """

    metric: Metric
    a: CellFinding
    b: CellFinding
    scale: Scale
    contrast: Contrast | None
    limit: float
    bootstrap: tuple[float, float] | None
    effect: float | None
    bound: Literal["", "≥", "≤"] = ""
    unequal: str = ""

    @property
    def p_worse(self) -> float:
        """p of the test against `B is not worse than the limit`."""
        return self._above(self.limit) if self._lower else self._below(self.limit)

    @property
    def p_no_worse(self) -> float:
        """p of the test against `B is worse than the limit`."""
        return self._below(self.limit) if self._lower else self._above(self.limit)

    @property
    def p_better(self) -> float:
        """p of the test against `B is not better than A`."""
        return self._below(0.0) if self._lower else self._above(0.0)

    def _above(self, limit: float) -> float:
        return 1.0 if self.contrast is None or self.unequal or self.bound == "≤" else self.contrast.p_above(limit)

    def _below(self, limit: float) -> float:
        return 1.0 if self.contrast is None or self.unequal or self.bound == "≥" else self.contrast.p_below(limit)

    @property
    def _lower(self) -> bool:
        return self.metric.better == "lower"


def judge(a: CellFinding, b: CellFinding, metric: Metric, *, margin: float, share_margin: float) -> Judged:
    """Contrast B with A: paired where two or more seeds agree, else by Welch.

    Shares are subtracted (they may be zero), all else divided; where a zero forbids that, the difference is given in
    A's mean, or B's where A's is zero, as if that were known exactly.  That what is counted did not spread is no
    certainty.
    """
    first, second = a.by_seed(metric.name), b.by_seed(metric.name)
    shared = [seed for seed in second if seed in first]
    pairs = [(first[seed], second[seed]) for seed in shared]
    groups = a.values(metric.name), b.values(metric.name)
    take, scale, limit = _scale(metric, groups, margin=margin, share_margin=share_margin)
    if len(pairs) >= 2 or (pairs and min(map(len, groups)) < 2):
        taken = [(take(one), take(other)) for one, other in pairs]
        contrast, effect = paired(taken), paired_effect(taken)
        resampled = bootstrap_mean([other - one for one, other in taken])
    else:
        left, right = ([take(value) for value in group] for group in groups)
        contrast, effect, resampled = unpaired(left, right), hedges_g(left, right), None
    if contrast is not None:
        counts, weight = counts_of(metric.name, a, b), 1.0 if scale == "ratio" else take(1.0)
        contrast = never_certain(contrast, *counts, weights=(weight, weight), logarithms=scale == "ratio")
    bounded = a.bounded(metric.name), b.bounded(metric.name)
    if any(bounded):
        resampled = effect = None
    return Judged(
        metric=metric, a=a, b=b, scale=scale, contrast=None if all(bounded) else contrast, limit=limit,
        bootstrap=resampled, effect=effect, bound="≤" if bounded[0] else "≥" if bounded[1] else "",
        unequal=unequal(a, b),
    )  # fmt: skip


def _scale(
    metric: Metric, groups: tuple[Sequence[float], Sequence[float]], *, margin: float, share_margin: float
) -> tuple[Callable[[float], float], Scale, float]:
    """How a value is taken before it is contrasted, what that is called, and the limit on that scale."""
    worse = 1 if metric.better == "lower" else -1
    if metric.unit == "share":
        return float, "points", worse * share_margin
    if all(value > 0 for group in groups for value in group):
        return math.log, "ratio", math.log1p(worse * margin)
    of_a, of_b = (abs(float(np.mean(group or [0.0]))) for group in groups)
    reference = of_a or of_b or 1.0
    scale: Scale = "share of A's mean" if of_a or not of_b else "share of B's mean"
    return lambda value: value / reference, scale, worse * margin


def verdict(one: Judged, p_worse_adjusted: float) -> Verdict:
    """Worse is claimed for some of many rows, so its p is adjusted.  No worse is claimed for all rows together, which
    is wrong only if it is wrong for one of them: that needs no adjustment (intersection-union test, Berger 1982).
    """
    if p_worse_adjusted <= ONE_SIDED:
        return Verdict.WORSE
    if one.p_no_worse <= ONE_SIDED:
        return Verdict.BETTER if one.p_better <= ONE_SIDED else Verdict.NO_WORSE
    return Verdict.INCONCLUSIVE


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Worse if one row is; no worse if every row is no worse."""
    if Verdict.WORSE in verdicts:
        return Verdict.WORSE
    if Verdict.INCONCLUSIVE in verdicts or not verdicts:
        return Verdict.INCONCLUSIVE
    return Verdict.NO_WORSE
