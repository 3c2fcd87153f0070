"""Evidence for claims, made by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.claims.comparisons import Quantity
from analysis.statistics import Count


@dataclass(frozen=True)
class Values:
    """Values of quantities by seed; bounded: which are lower bounds; not_alike: why none may be compared."""

    values: Mapping[Quantity, Mapping[int, float]]
    exact: bool = False
    why: str = field(default="not there")
    not_alike: str = ""
    bounded: frozenset[Quantity] = frozenset()
    counted: Mapping[Quantity, Sequence[Count]] = field(default_factory=dict)

    def span(self, wanted: Quantity) -> tuple[float, float] | None:
        value = next(iter(self.values.get(wanted, {0: 0.0}).values()))
        return (value, value) if self.exact else None

    def held(self, wanted: Quantity) -> Quantity:
        return wanted

    def at_least(self, wanted: Quantity, beside: Collection[Quantity]) -> bool:
        assert wanted in beside
        return wanted in self.bounded

    def counts(self, wanted: Quantity) -> Sequence[Count]:
        return self.counted.get(wanted, ())

    def by_seed(self, wanted: Quantity) -> Mapping[int, float]:
        return self.values.get(wanted, {})

    def why_none(self, wanted: Quantity) -> str:
        return f"{wanted.case}: {self.why}"

    def unlike(self, wanted: Collection[Quantity]) -> str:
        assert wanted
        return self.not_alike


def exact(**values: float) -> Values:
    quantities = {Quantity(name, "wire", "delivered_per_s"): {0: value} for name, value in values.items()}
    return Values(quantities, exact=True)


def trials(*values: float, first: int = 1) -> dict[int, float]:
    return dict(enumerate(values, start=first))
