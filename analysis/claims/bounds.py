"""Comparisons of which a value is a lower bound: it decides a direction, and never the width of an interval.

Bounds are below what they bound in every trial, so the lower end of an interval of theirs is below the true effect as
surely as it would be below theirs; an upper end says nothing.  Where they stand in the denominator, the other way
round.  The same holds for the test of that end: where `at most x` is rejected of the bounds it is rejected, at the same
level, of what they bound.  So that test's p counts among a claim's many comparisons (analysis.claims.multiple), where
it is at most too large; the test of the other direction is never passed: its p is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.claims.comparisons import Comparison
from analysis.statistics import Contrast

Sign = Literal["", "≥", "≤"]
Tests = tuple[Callable[[float], float], Callable[[float], float]]
BOTH = "both sides are lower bounds: messages never came in either"
ONE_SIDED = "a lower bound decides the direction only"
NO_FIT = "a value is a lower bound: nobody can say where the true curve bends"
NO_LINE = "a value is a lower bound: nobody can say how straight the true curve is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What is known of an effect: it lies between low and high, one of which is infinite.  sign: of its centre."""

    low: float
    high: float
    sign: Sign


def sign_of(comparison: Comparison, bounded: Sequence[bool]) -> Sign | None:
    """Which way the effect may still move; '' where nothing is a bound, None where both sides hold one.

    bounded: of each of the comparison's quantities, whether it holds a lower bound.
    """
    at = len(comparison.over)
    falls = [number >= at for number in range(len(bounded))]
    for number, weight in enumerate(comparison.weights):
        falls[number] ^= weight < 0
    over = any(holds and not down for holds, down in zip(bounded, falls, strict=True))
    under = any(holds and down for holds, down in zip(bounded, falls, strict=True))
    if over and under:
        return None
    return "≥" if over else "≤" if under else ""


def reach(found: Contrast, sign: Sign) -> Reach:
    """The end of the interval that holds for bounds, on the contrast's scale; of a single trial nothing holds."""
    low = -math.inf if sign != "≥" or found.low is None else found.low
    high = math.inf if sign != "≤" or found.high is None else found.high
    return Reach(low=low, high=high, sign=sign)


def tests(found: Contrast, sign: Sign) -> Tests:
    """The p of `above` and of `below` a value on the contrast's scale; 1 where bounds of this sign say nothing."""
    return _never if sign == "≤" else found.p_above, _never if sign == "≥" else found.p_below


def _never(limit: float) -> float:
    del limit
    return 1.0
