"""Many comparisons in one claim: each can be where it is by chance, so that some of many often are.

That at least k of m comparisons are inside their bands is tested by the k-th smallest p times m - k + 1 (Benjamini and
Heller 2008).  That is Holm's step where one is enough, an *any* that holds and an *all* that fails, and no correction
where every one is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.claims.vocabulary import Quantifier
from analysis.statistics.students import ONE_SIDED


@dataclass(frozen=True, slots=True)
class Chance:
    """One comparison's p: against `not inside its band`, and against `inside it`."""

    inside: float
    outside: float


def needed(quantifier: Quantifier, of: int) -> int:
    """How many of so many comparisons must be inside."""
    return {"all": of, "most": of // 2 + 1, "any": 1}[quantifier]


def enough_inside(quantifier: Quantifier, tested: Sequence[Chance | None]) -> bool:
    """Whether as many are inside as are needed.  None: nothing could be tested."""
    p = [one.inside for one in tested if one is not None]
    return _at_least(p, needed(quantifier, len(tested)), ONE_SIDED)


def too_many_outside(quantifier: Quantifier, tested: Sequence[Chance | None], *, share: float = 1.0) -> bool:
    """Whether so many are outside that too few can be inside.

    share: of the level, where a claim's other tests could fail it too.
    """
    p = [one.outside for one in tested if one is not None]
    return _at_least(p, len(tested) - needed(quantifier, len(tested)) + 1, share * ONE_SIDED)


def _at_least(p: Sequence[float], count: int, level: float) -> bool:
    return len(p) >= count and (len(p) - count + 1) * sorted(p)[count - 1] <= level
