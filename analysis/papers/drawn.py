"""Whether a study's record and its published numbers fit together, and what a figure of it shows.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.claims.comparisons import Quantity
from analysis.claims.known import unknown
from analysis.metrics import METRICS
from analysis.papers.computed import METRICS as COMPUTED
from analysis.papers.published import PRINTED, Point, reading
from analysis.papers.record import Figure, Record
from records.yaml_lines import Key


@dataclass(frozen=True, slots=True)
class Problem:
    """Where it is: a line of the published numbers, or else a key of the record."""

    at: Key
    what: str
    line: int | None = None


def shown(figure: Figure, points: Sequence[Point]) -> tuple[Point, ...]:
    """The points of a figure in its reading: one for each place of a series on a network."""
    chosen: dict[tuple[str, ...], Point] = {}
    for point in points:
        place = (point.series, point.x, point.network, point.metric)
        wanted = point.reading == figure.reading or (point.reading == PRINTED and place not in chosen)
        if point.figure == figure.figure and wanted:
            chosen[place] = point
    return tuple(chosen.values())


def along(point: Point) -> float:
    """The place of a point on a numeric axis; NaN for a word."""
    try:
        return float(point.x)
    except ValueError:
        return math.nan


def strangers(record: Record, points: Sequence[Point]) -> Iterator[Problem]:
    """Names that mean nothing here, and figures that cannot be drawn."""
    words: dict[str, str] = {}
    for word, profile in record.networks.items():
        if (other := words.setdefault(profile, word)) != word:
            yield Problem(("networks", word), f"networks.{word}: {profile!r} is {other} already")
    yield from _bound(record, points)
    yield from _misplaced(record, points)
    readings = [PRINTED, *dict.fromkeys(point.reading for point in points)]
    names = list(dict.fromkeys(point.figure for point in points))
    for number, figure in enumerate(record.figures):
        at: Key = ("figures", number, "figure")
        if figure.figure not in names:
            told = ", ".join(names)
            yield Problem(at, f"figure {figure.figure} has no points: published.csv has the figures {told}")
        if figure.figure in [other.figure for other in record.figures[:number]]:
            yield Problem(at, f"figure {figure.figure} stands there twice")
        if problem := unknown("reading of the published numbers", figure.reading, readings):
            yield Problem(("figures", number, "reading"), f"reading: {problem}")
        else:
            yield from _axes(figure, points)


def _misplaced(record: Record, points: Sequence[Point]) -> Iterator[Problem]:
    """Cases that are computed have computed metrics, and no others have."""
    computed = record.computed.cases if record.computed else {}
    for case in record.unpublished:
        if case in computed:
            yield Problem(("unpublished",), f"unpublished: {case!r} is computed: it is no case of the scenario")
    for point in points:
        if (point.case in computed) != (point.metric in COMPUTED):
            told = f"case {point.case!r} is {'' if point.case in computed else 'not '}computed"
            allowed = ", ".join(COMPUTED) if point.case in computed else "one of trials"
            yield Problem((), f"metric: {point.metric!r}: {told}, so its metric is {allowed}", point.line)


def _axes(figure: Figure, points: Sequence[Point]) -> Iterator[Problem]:
    metrics: dict[str, Point] = {}
    units: dict[str, Point] = {}
    for point in shown(figure, points):
        place = along(point)
        if figure.x.scale != "places" and not math.isfinite(place):
            what = f"x: {point.x!r} is no number, and figure {figure.figure} has a {figure.x.scale} axis"
            yield Problem((), what, point.line)
        if figure.x.scale == "log" and place <= 0:
            what = f"x: {point.x} cannot stand on the logarithmic axis of figure {figure.figure}: it begins above 0"
            yield Problem((), what, point.line)
        if figure.y.scale == "log" and point.value <= 0:
            what = f"value: 0 cannot stand on the logarithmic axis of figure {figure.figure}: take `linear` or `auto`"
            yield Problem((), what, point.line)
        first = metrics.setdefault(point.series, point)
        if first.metric != point.metric:
            what = f"metric: {point.metric!r}, and line {first.line} of the same series has {first.metric!r}"
            yield Problem((), f"{what}: a series that is drawn has one", point.line)
            continue
        other = units.setdefault(METRICS[point.metric].unit, point)
        if len(units) > 1 and other is point:
            what = f"metric: {point.metric!r} is in {METRICS[point.metric].unit}"
            have = f"figure {figure.figure} has one vertical axis, in {next(iter(units))}"
            yield Problem((), f"{what}, and {have}: draw two figures", point.line)


def _bound(record: Record, points: Sequence[Point]) -> Iterator[Problem]:
    if (asked := record.link_bound) is None:
        return
    if problem := unknown("network", asked.network, record.networks):
        yield Problem(("link_bound", "network"), f"network: {problem}")
        return
    cases = list(dict.fromkeys(point.case for point in points))
    published: Mapping[Quantity, Point] = reading(points, PRINTED)
    for number, row in enumerate(asked.rows):
        at: Key = ("link_bound", "rows", number)
        if problem := unknown("metric", row.metric, METRICS):
            yield Problem(at, f"metric: {problem}")
            continue
        for case in row.cases:
            if problem := unknown("case of the published numbers", case, cases):
                yield Problem(at, f"cases: {problem}")
            elif Quantity(case, asked.network, row.metric) not in published:
                yield Problem(at, f"cases: {row.metric} of {case!r} on {asked.network} was not published")
