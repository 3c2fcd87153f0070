"""How far an effect can be from what single stated values make of it, when they are not all exact.  Pure.

Interval arithmetic: each value may be anywhere between its ends, whatever the others are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from analysis.claims.comparisons import Comparison

Span = tuple[float, float]
"""Ends between which a stated value lies; equal where it is exact."""


def is_exact(spans: Iterable[Span]) -> bool:
    """Whether every value is what it is said to be."""
    return all(low == high for low, high in spans)


def reach(comparison: Comparison, spans: Sequence[Span]) -> Span:
    """Ends of the effect.  spans: of the comparison's quantities, in their order; values are above 0."""
    at = len(comparison.over)
    over, under = spans[:at], spans[at:]
    if comparison.weights:
        weights = comparison.weights
        over = [_weighted(over, weights[:at])]
        under = [_weighted(under, weights[at:])] if under else []
    if comparison.scale == "ratio":
        lows, highs = ([math.prod(span[end] for span in side) for side in (over, under)] for end in (0, 1))
        if lows[1] < 0 or (not lows[1] and (lows[0] < 0 or not highs[1])):
            return -math.inf, math.inf  # what is divided by may be 0
        low = lows[0] / (highs[1] if lows[0] >= 0 else lows[1])
        return low, highs[0] / (lows[1] if highs[0] >= 0 else highs[1]) if lows[1] else math.inf
    below, above = (math.fsum(span[end] for span in over) for end in (0, 1))
    return below - math.fsum(high for _, high in under), above - math.fsum(low for low, _ in under)


def _weighted(spans: Sequence[Span], weights: Sequence[float]) -> Span:
    """A weighted sum; a negative weight turns its span round."""
    parts = [sorted((w * low, w * high)) for (low, high), w in zip(spans, weights, strict=True) if w]
    return math.fsum(low for low, _ in parts), math.fsum(high for _, high in parts)
