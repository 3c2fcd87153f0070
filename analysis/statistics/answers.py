"""The three answers to whether two things differ."""

from __future__ import annotations

import math
from enum import StrEnum

from analysis.statistics.contrasts import Contrast
from analysis.statistics.students import ONE_SIDED

EQUAL_WITHIN = 0.05  # as wide as the interval that a campaign's repetitions aim at


class Answer(StrEnum):
    """UNDETECTED means that these trials cannot tell, not that there is no difference."""

    DIFFERENT = "different"
    EQUIVALENT = "equivalent"
    UNDETECTED = "no difference detectable"


def answer(found: Contrast, *, below: float, above: float) -> Answer | None:
    """Different when the 95 % interval leaves 0 out; else equivalent when it lies between `below` and `above`.

    Equivalence is two one-sided tests (Schuirmann 1987), each at 2.5 %, so that it agrees with the interval that is
    shown (the usual 5 % would need the 90 % interval).  None when there is no interval.
    """
    if found.differs is None:
        return None
    if found.differs:
        return Answer.DIFFERENT
    p = max(found.p_above(below), found.p_below(above))
    return Answer.EQUIVALENT if p <= ONE_SIDED else Answer.UNDETECTED


def log_margin(share: float) -> tuple[float, float]:
    """The margin of a ratio on the scale of logarithms: from 1 / (1 + share) to 1 + share."""
    return -math.log1p(share), math.log1p(share)
