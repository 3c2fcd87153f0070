"""From a test to the single comparisons that it is made of: an effect, and the band that it should lie in.  Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from typing import Literal, NamedTuple

from analysis.claims.vocabulary import (
    Between,
    Difference,
    FittedKnee,
    Knee,
    Linear,
    Monotone,
    Never,
    NoDifference,
    Product,
    Ratio,
    Selector,
    Side,
    Slope,
    Straight,
    Sum,
    Test,
    Totals,
    WithinPercent,
)

Scale = Literal["ratio", "difference", "value", "never", "slope", "knee", "r_squared"]


class Quantity(NamedTuple):
    """One metric of one case on one network (the paper's word for it)."""

    case: str
    network: str
    metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Product of `over` by product of `under` (or their difference, or the one value) lies in low..high.

    low, high: in the effect's own scale (a ratio, SI units, SI units for each 1 of `at`, a place on `at`); None where
    the band is open.  weights: of `over` and then of `under`, whose weighted sums are compared instead of products;
    empty for products.  at: of a slope, a knee and an R², where on the horizontal axis each of `over` stands.  among:
    of how many at least nothing may be found, where it is never to be.
    """

    over: tuple[Quantity, ...]
    under: tuple[Quantity, ...] = ()
    scale: Scale
    low: float | None = None
    high: float | None = None
    weights: tuple[float, ...] = ()
    at: tuple[float, ...] = ()
    among: int = 0

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """All that it needs."""
        return self.over + self.under


def comparisons(test: Test) -> tuple[Comparison, ...]:
    """Everything that the test looks at, network after network."""
    return tuple(found for network in test.network for found in _on(test, network))


def _on(test: Test, network: str) -> Iterator[Comparison]:
    match test:
        case Ratio() | NoDifference() | Difference():
            found = _sided(test, network)
        case Between() | Never() | WithinPercent():
            found = _single(test, network)
        case Totals():
            found = _totals(test, network)
        case Sum():
            found = _sum(test, network)
        case Linear():
            found = _line(test, network)
        case Straight():
            found = _straight(test, network)
        case Slope() | FittedKnee():
            found = _fit(test, network)
        case Monotone():
            found = _steps(test, network)
        case Knee():
            found = _peak(test, network)
    return found


def _sided(test: Ratio | NoDifference | Difference, network: str) -> Iterator[Comparison]:
    for over, under in _sides(test, network):
        if isinstance(test, NoDifference):
            most = 1 + test.within_percent / 100
            yield Comparison(over=over, under=under, scale="ratio", low=1 / most, high=most)
        else:
            yield Comparison(over=over, under=under, scale=test.test, low=test.above, high=test.below)


def _totals(test: Totals, network: str) -> Iterator[Comparison]:
    sides = list(_sides(test, network))
    over, under = (tuple(one for side in sides for one in side[which]) for which in (0, 1))
    weights = (1.0,) * (len(over) + len(under))
    yield Comparison(over=over, under=under, scale="ratio", low=test.above, high=test.below, weights=weights)


def _sum(test: Sum, network: str) -> Iterator[Comparison]:
    over, under = (
        tuple(_quantity(one, None, network, test.metric) for one in side)
        for side in (test.cases, () if test.equals is None else (test.equals,))
    )
    weights = (1.0,) * (len(over) + len(under))
    if test.within_percent is None:
        yield Comparison(over=over, scale="value", low=test.above, high=test.below, weights=weights)
    else:
        most = 1 + test.within_percent / 100
        yield Comparison(over=over, under=under, scale="ratio", low=1 / most, high=most, weights=weights)


def _fit(test: Slope | FittedKnee, network: str) -> Iterator[Comparison]:
    over = tuple(Quantity(name, network, test.metric) for name in test.series)
    weights: tuple[float, ...] = ()
    if isinstance(test, Slope):  # least squares: a weighted sum of the values
        away = [place - fsum(test.at) / len(test.at) for place in test.at]
        spread = fsum(one * one for one in away)
        weights = tuple(one / spread for one in away)
    scale: Scale = "slope" if weights else "knee"
    yield Comparison(over=over, scale=scale, low=test.above, high=test.below, weights=weights, at=test.at)


def _line(test: Linear, network: str) -> Iterator[Comparison]:
    first, *between, last = (Quantity(name, network, test.metric) for name in test.series)
    start, *places, end = test.at
    most = 1 + test.within_percent / 100
    for quantity, place in zip(between, places, strict=True):
        way = (place - start) / (end - start)
        yield Comparison(over=(quantity,), under=(first, last), scale="ratio", low=1 / most, high=most,
                         weights=(1.0, 1 - way, way))  # fmt: skip


def _straight(test: Straight, network: str) -> Iterator[Comparison]:
    series = tuple(Quantity(name, network, test.metric) for name in test.series)
    yield Comparison(over=series, scale="r_squared", low=test.r_squared_above, at=test.at)
    away = test.steps_within_percent / 100
    for (before, start), (after, end) in pairwise(zip(series, test.at, strict=True)):
        share = (end - start) / (test.at[-1] - test.at[0])
        yield Comparison(over=(after, before), under=(series[-1], series[0]), scale="ratio", low=1 - away,
                         high=1 + away, weights=(1.0, -1.0, share, -share))  # fmt: skip


def _single(test: Between | Never | WithinPercent, network: str) -> Iterator[Comparison]:
    for case in test.cases:
        over = (Quantity(case, network, test.metric),)
        if isinstance(test, WithinPercent):
            away = test.of * test.percent / 100
            yield Comparison(over=over, scale="value", low=test.of - away, high=test.of + away)
        elif isinstance(test, Never):
            yield Comparison(over=over, scale="never", among=test.among)
        else:
            yield Comparison(over=over, scale="value", low=test.above, high=test.below)


def _peak(test: Knee, network: str) -> Iterator[Comparison]:
    for case in test.series:
        if case != test.at:
            over, under = ((Quantity(name, network, test.metric),) for name in (test.at, case))
            yield Comparison(over=over, under=under, scale="ratio", low=1.0)


def _steps(test: Monotone, network: str) -> Iterator[Comparison]:
    back = test.tolerance_percent / 100
    for before, after in pairwise(test.series):
        over, under = ((Quantity(name, network, test.metric),) for name in (after, before))
        if test.direction == "rising":
            yield Comparison(over=over, under=under, scale="ratio", low=1 - back)
        else:
            yield Comparison(over=over, under=under, scale="ratio", high=1 + back)


def _sides(
    test: Ratio | Totals | NoDifference | Difference, network: str
) -> Iterator[tuple[tuple[Quantity, ...], tuple[Quantity, ...]]]:
    """Numerator and denominator of every comparison."""

    def resolved(product: Product, side: Side | None) -> tuple[Quantity, ...]:
        return tuple(_quantity(one, side, network, test.metric) for one in product)

    for case in test.cases:
        one = (Selector(case=case),)
        yield resolved(one, test.over), resolved(one, test.under)
    for first, second in test.pairs:
        if test.over is None:
            yield resolved(first, None), resolved(second, None)
        else:
            yield (
                resolved(first, test.over) + resolved(second, test.under),
                resolved(second, test.over) + resolved(first, test.under),
            )


def _quantity(one: Selector, side: Side | None, network: str, metric: str) -> Quantity:
    return Quantity(
        one.case,
        one.network or (side.network if side else None) or network,
        one.metric or (side.metric if side else None) or metric,
    )
