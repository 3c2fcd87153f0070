"""Many tests at once: p values adjusted so that each may be held against the level of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted so that any false alarm at all is as rare as the level says, however the tests depend (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    steps = np.asarray(p, dtype=float)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(one) for one in adjusted]


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Adjusted so that the share of false ones among all alarms is, on average, what the level says (1995)."""
    order = np.argsort(p, kind="stable")[::-1]
    steps = np.asarray(p, dtype=float)[order] * len(p) / np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.minimum.accumulate(steps), 1.0)
    return [float(one) for one in adjusted]
