"""A claim about a published series: `series: {figure: 5.1, name: 64 B}` instead of the cases that it is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.claims.known import unknown

_KEYS = {"figure", "name"}
_PLACED = ("linear", "straight", "slope", "fitted_knee")  # tests that need to know where the cases stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A series on one network: for each metric, places on the horizontal axis, as published, to cases."""

    cases: Mapping[str, Mapping[str, str]]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Of its values."""
        return tuple(self.cases)

    def of(self, metric: object) -> Mapping[str, str]:
        """Places to cases of a metric; of one that was not published, all that there are."""
        known = self.cases.get(str(metric))
        return (
            {place: case for cases in self.cases.values() for place, case in cases.items()} if known is None else known
        )


Curves = Mapping[str, Mapping[str, Mapping[str, Curve]]]
"""Figure to series to network to curve."""


class SeriesError(ValueError):
    """A series that is not there, or that the test cannot be asked of; the message says why."""


def resolved(test: Mapping[str, Any], curves: Curves) -> dict[str, Any]:
    """The test with the series' cases, its places as numbers (`at`), and metric and networks where it has none."""
    asked = test.get("series")
    if not isinstance(asked, Mapping):
        return dict(test)
    if set(asked) != _KEYS:
        raise SeriesError("series: a list of cases, or {figure: NAME, name: NAME} as in the published numbers")
    figure, name = str(asked["figure"]), str(asked["name"])
    if problem := unknown("figure of the published numbers", figure, curves):
        raise SeriesError(problem)
    if problem := unknown(f"series of figure {figure}", name, curves[figure]):
        raise SeriesError(problem)
    found = curves[figure][name]
    given = test.get("network") or list(found)
    networks = [str(one) for one in (given if isinstance(given, list) else [given])]
    for network in networks:
        if problem := unknown(f"network of series {name!r} of figure {figure}", network, found):
            raise SeriesError(problem)
    first = found[networks[0]]
    if "metric" not in test and len(first.metrics) > 1:
        told = ", ".join(first.metrics)
        raise SeriesError(f"series {name!r} of figure {figure} has values of {told}: give one as `metric`")
    metric = test.get("metric", first.metrics[0])
    cases = first.of(metric)
    if any(found[one].of(metric) != cases for one in networks):
        raise SeriesError(f"series {name!r} of figure {figure} has other cases on each network: give one `network`")
    places = list(cases)
    if not isinstance(test.get("at"), list):  # of a knee it is a case
        numbers = {place: number for place in places if (number := _number(place)) is not None}
        if len(numbers) == len(places):
            places.sort(key=numbers.__getitem__)
        elif test.get("test") in _PLACED:
            word = next(place for place in places if place not in numbers)
            raise SeriesError(
                f"series {name!r} of figure {figure} stands over words ({word!r}): give `at`, its numbers"
            )
        if test.get("test") in _PLACED and "at" not in test:
            test = {**test, "at": [numbers[place] for place in places]}
    return {"metric": metric, "network": networks, **test, "series": [cases[place] for place in places]}


def _number(place: str) -> float | None:
    try:
        value = float(place)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
