"""The published numbers as evidence: each with how exact it is; a doubtful one may stand there in a second reading."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.claims.comparisons import Quantity
from analysis.claims.spans import Span
from analysis.statistics import Count

PRINTED = "printed"  # the reading that takes every value as it stands in the study


class HowExact(StrEnum):
    """What a study says of a value.

    printed: the number itself.  about: said to be near it, or read off a drawing.  derived: calculated from printed
    ones, and taken as it is, like these.
    """

    PRINTED = "printed"
    ABOUT = "about"
    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    DERIVED = "derived"

    @property
    def bounds(self) -> bool:
        """Whether the true value may be far away, on one side."""
        return self in (HowExact.AT_LEAST, HowExact.AT_MOST)

    @property
    def sign(self) -> str:
        """What stands before the number."""
        return {HowExact.ABOUT: "≈ ", HowExact.AT_LEAST: "≥ ", HowExact.AT_MOST: "≤ "}.get(self, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One published value, in SI units.  line: of the file.  x: as it stands there.

    case, network: our cell that answers it.  reading: `printed`, or the name of another reading of a value that looks
    wrong.  note: what is doubtful.
    """

    line: int
    figure: str
    series: str
    x: str
    metric: str
    value: float
    how_exact: HowExact
    network: str
    case: str
    reading: str = PRINTED
    note: str = ""

    @property
    def quantity(self) -> Quantity:
        """What it is a value of."""
        return Quantity(self.case, self.network, self.metric)

    def span(self, about: float) -> Span:
        """Between which ends the true value lies.  about: the share by which a value that is `about` may be off."""
        match self.how_exact:
            case HowExact.ABOUT:
                return self.value * (1 - about), self.value * (1 + about)
            case HowExact.AT_LEAST:
                return self.value, math.inf
            case HowExact.AT_MOST:
                return 0.0, self.value
        return self.value, self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Published values as evidence.  about: the share by which a value that is `about` may be off."""

    values: Mapping[Quantity, Point]
    about: float

    def span(self, wanted: Quantity) -> Span | None:
        """See analysis.claims.Evidence."""
        found = self.values.get(wanted)
        return None if found is None else found.span(self.about)

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        """See analysis.claims.Evidence; the one value has the seed 0."""
        found = self.values.get(wanted)
        return {} if found is None else {0: found.value}

    def why_none(self, wanted: Quantity) -> str:
        """See analysis.claims.Evidence."""
        return f"{wanted.case}: {wanted.metric} on {wanted.network} was not published"

    def unlike(self, wanted: Collection[Quantity]) -> str:
        """See analysis.claims.Evidence; of the study's windows only their numbers are known."""
        del wanted
        return ""

    def held(self, wanted: Quantity) -> Quantity:
        """See analysis.claims.Evidence."""
        return wanted

    def at_least(self, wanted: Quantity, beside: Collection[Quantity]) -> bool:
        """See analysis.claims.Evidence; what a bound leaves open is in its span."""
        del wanted, beside
        return False

    def counts(self, wanted: Quantity) -> Sequence[Count]:
        """See analysis.claims.Evidence; a stated value is taken as it is."""
        del wanted
        return ()


def reading(points: Iterable[Point], name: str) -> dict[Quantity, Point]:
    """One value for each quantity: of this reading where there is one, else the printed one."""
    chosen: dict[Quantity, Point] = {}
    for point in points:
        if point.reading == name or (point.reading == PRINTED and point.quantity not in chosen):
            chosen[point.quantity] = point
    return chosen
