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
    """A series on one network: places on the horizontal axis, as published, to cases.  metrics: of its values."""

    metrics: tuple[str, ...]
    cases: Mapping[str, str]


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
    if any(found[one].cases != first.cases for one in networks):
        raise SeriesError(f"series {name!r} of figure {figure} has other cases on each network: give one `network`")
    if "metric" not in test and len(first.metrics) > 1:
        told = ", ".join(first.metrics)
        raise SeriesError(f"series {name!r} of figure {figure} has values of {told}: give one as `metric`")
    places = list(first.cases)
    if test.get("test") in _PLACED and "at" not in test:
        at = [_number(figure, name, place) for place in places]
        places = sorted(places, key=lambda place: at[places.index(place)])
        test = {**test, "at": sorted(at)}
    series = [first.cases[place] for place in places]
    return {"metric": first.metrics[0], "network": networks, **test, "series": series}


def _number(figure: str, name: str, place: str) -> float:
    try:
        value = float(place)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SeriesError(f"series {name!r} of figure {figure} stands over words ({place!r}): give `at`, its numbers")
    return value
