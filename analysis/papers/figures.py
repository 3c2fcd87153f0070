"""The study's figures, ours beside the published values."""

from __future__ import annotations

from analysis.claims.comparisons import Quantity
from analysis.metrics import METRICS
from analysis.papers.paper import Figure
from analysis.papers.published import PRINTED
from analysis.papers.result import METRICS as COMPARED
from analysis.papers.result import PaperResult
from analysis.plots.against import Dot, Square, against_plot
from analysis.plots.paper import Mark, Panel, figure_plot
from analysis.plots.style import Plot

_UNITS = {"1/s": "messages per second", "s": "seconds"}


def figures(result: PaperResult) -> tuple[Plot, ...]:
    """A plot for each published figure of which something was measured."""
    return tuple(_figure(result, figure) for figure in result.paper.record.figures if _measured(result, figure))


def scatter(result: PaperResult) -> Plot | None:
    """Measured against published, all values of all rows that look sound."""
    bound = {row.figures.quantity for row in result.bound}
    squares = []
    for metric in COMPARED:
        dots = tuple(
            Dot(
                group=one.quantity.network,
                published=one.published,
                ours=one.ours,
                bound=one.quantity in bound,
            )
            for row in result.rows
            if not row.row.note
            for one in row.figures
            if one.quantity.metric == metric and one.published is not None and one.ours is not None
        )
        squares.append(Square(title=METRICS[metric].label, unit=METRICS[metric].unit, dots=dots))
    within = result.paper.record.link_bound.within_percent / 100
    doubtful = ", ".join(dict.fromkeys(row.row.case for row in result.rows if row.row.note))
    return against_plot(
        squares,
        groups=tuple(result.paper.networks),
        within=within,
        aside=f"without {doubtful}, whose published values are doubtful" if doubtful else "",
    )


def _measured(result: PaperResult, figure: Figure) -> bool:
    return any(
        result.evidence.estimate(Quantity(case, network, series.metric))
        for series in figure.series
        for case in series.cases
        for network in result.paper.networks
    )


def _figure(result: PaperResult, figure: Figure) -> Plot:
    published = result.published(figure.reading)

    def mark(case: str, network: str, metric: str) -> Mark:
        quantity = Quantity(case, network, metric)
        return Mark(
            published=published.by_seed(quantity).get(0),
            ours=result.evidence.estimate(quantity),
        )

    panels = [
        Panel(
            title=network,
            series={
                series.label: tuple(mark(case, network, series.metric) for case in series.cases)
                for series in figure.series
            },
        )
        for network in result.paper.networks
    ]
    exchanged = "" if figure.reading == PRINTED else f"; doubtful published rows {figure.reading}"
    return figure_plot(
        panels,
        name=f"figure-{figure.figure:02}",
        title=f"Figure {figure.figure}: {figure.title}{exchanged}",
        across=figure.across,
        places=figure.places,
        unit=_UNITS[METRICS[figure.series[0].metric].unit],
    )
