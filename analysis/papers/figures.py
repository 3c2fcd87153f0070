"""The study's figures, ours beside the published values."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from analysis.metrics import METRICS
from analysis.names import plain
from analysis.papers.drawn import along, shown
from analysis.papers.published import PRINTED, HowExact, Point
from analysis.papers.record import Figure
from analysis.papers.result import PaperResult
from analysis.plots.against import Dot, Square, against_plot
from analysis.plots.paper import Axes, Exactness, Mark, Panel, figure_plot
from analysis.plots.style import Plot
from analysis.statistics import Estimate
from analysis.units import scale

_RATE = "messages per second"


def figures(result: PaperResult) -> tuple[Plot, ...]:
    """A plot for each published figure of which something was measured."""
    drawn = ((figure, shown(figure, result.paper.points)) for figure in result.paper.record.figures)
    return tuple(
        _figure(result, figure, points)
        for figure, points in drawn
        if any(result.evidence.estimate(point.quantity) for point in points)
    )


def scatter(result: PaperResult) -> Plot | None:
    """Measured against published, all values of all rows that look sound."""
    bound = {row.figures.quantity for row in result.bound}
    squares = []
    for metric in result.paper.metrics:
        dots = tuple(
            Dot(
                group=one.quantity.network,
                published=one.published.value,
                ours=one.ours,
                bound=one.quantity in bound,
                exactness=_exactness(one.published),
            )
            for row in result.rows
            if not row.row.note
            for one in row.figures
            if one.quantity.metric == metric and one.published is not None and one.ours is not None
            if one.published.value > 0
        )
        squares.append(Square(title=METRICS[metric].label, unit=METRICS[metric].unit, dots=dots))
    asked = result.paper.record.link_bound
    doubtful = ", ".join(dict.fromkeys(row.row.case for row in result.rows if row.row.note))
    return against_plot(
        squares,
        groups=tuple(result.paper.networks),
        within=asked.within_percent / 100 if asked else None,
        aside=f"without {doubtful}, whose published values are doubtful" if doubtful else "",
    )


def _figure(result: PaperResult, figure: Figure, points: tuple[Point, ...]) -> Plot:
    places = tuple(dict.fromkeys(point.x for point in points))
    labels = dict.fromkeys(point.series for point in points)
    unit = METRICS[points[0].metric].unit
    factor, word = scale(unit, max(point.value for point in points))

    def mark(point: Point) -> Mark:
        at = float(places.index(point.x)) if figure.x.scale == "places" else along(point)
        ours = result.evidence.estimate(point.quantity)
        return Mark(at=at, published=point.value / factor, ours=ours and _divided(ours, factor),
                    exactness=_exactness(point))  # fmt: skip

    panels = [
        Panel(
            title=network,
            series={
                label: tuple(mark(point) for point in points if (point.series, point.network) == (label, network))
                for label in labels
            },
        )
        for network in result.paper.networks
        if any(point.network == network for point in points)
    ]
    exchanged = "" if figure.reading == PRINTED else f"; doubtful published rows {figure.reading}"
    name = f"{int(figure.figure):02}" if figure.figure.isdecimal() else plain(figure.figure)
    return figure_plot(
        panels,
        Axes(label=figure.x.label, scale=figure.x.scale, places=places, up=figure.y.scale),
        name=f"figure-{name}",
        title=f"Figure {figure.figure}: {figure.title}{exchanged}",
        unit=_RATE if unit == "1/s" else word or METRICS[points[0].metric].label,
    )


def _divided(found: Estimate, factor: float) -> Estimate:
    low, high = (None if end is None else end / factor for end in (found.low, found.high))
    return replace(found, mean=found.mean / factor, low=low, high=high)


def _exactness(point: Point) -> Exactness:
    exact = point.how_exact in (HowExact.PRINTED, HowExact.DERIVED)
    return "exact" if exact else cast("Exactness", point.how_exact.value)
