"""Effect sizes: how large a difference is beside the spread of trials.  For comparing with other studies."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from analysis.statistics.students import deviation


def paired_effect(pairs: Sequence[tuple[float, float]]) -> float | None:
    """d_z: mean of the differences by their standard deviation; None below 2 pairs or without spread."""
    if len(pairs) < 2:
        return None
    values = np.asarray(pairs, dtype=float)
    differences = values[:, 1] - values[:, 0]
    spread = deviation(differences, scale=float(np.abs(values).max()))
    return float(differences.mean()) / spread if spread else None


def hedges_g(first: Sequence[float], second: Sequence[float]) -> float | None:
    """g: difference of means by the pooled standard deviation, corrected for small groups (Hedges 1981).

    None when a group has fewer than 2 values or nothing spreads.
    """
    if min(len(first), len(second)) < 2:
        return None
    freedom = len(first) + len(second) - 2
    squares = sum((len(group) - 1) * deviation(group) ** 2 for group in (first, second))
    if squares == 0:
        return None
    pooled = math.sqrt(squares / freedom)
    correction = math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom - 1) / 2)) / math.sqrt(freedom / 2)
    return correction * float(np.mean(second) - np.mean(first)) / pooled
