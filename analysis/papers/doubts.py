"""What a reader should know before believing a cell's mean: how precise it is, and whether its windows were steady."""

from __future__ import annotations

from collections import Counter

from analysis.backlog import growing_text
from analysis.findings import CellFinding
from analysis.stationarity import LATENCY, is_wait, series_of
from records.counts import out_of
from records.latency import of_arrivals
from records.stopping import End


def doubts(cell: CellFinding | None, metric: str) -> str:
    """As in `±12 % when trials ended; rose in 2 of 3 windows`; empty when there is nothing to say."""
    if cell is None:
        return ""
    said = [_imprecise(cell, metric), _unsteady(cell, metric)]
    if series_of(metric) == LATENCY:
        said.append(_older(cell, metric))
    if is_wait(metric):
        said += [_late(cell, metric), growing_text(cell)]
    return "; ".join(filter(None, said))


def _older(cell: CellFinding, metric: str) -> str:
    only = not cell.values(metric) and cell.values(of_arrivals(metric))
    return "of what arrived in the window (an older reduction)" if only else ""


def _late(cell: CellFinding, metric: str) -> str:
    found = sum(metric in trial.at_least for trial in cell.valid)
    return f"a lower bound in {out_of(found, len(cell.valid))}, in which messages never came" if found else ""


def _imprecise(cell: CellFinding, metric: str) -> str:
    found = [one for one in cell.precision.metrics if one.metric == metric] if cell.precision else []
    if not found or found[0].end is End.PRECISE:
        return ""
    share, rule = found[0].share, cell.precision.rule if cell.precision else None
    if share is None or (rule is not None and share <= rule.half_width):
        return "too few trials"
    return f"±{100 * share:.0f} % when trials ended"


def _unsteady(cell: CellFinding, metric: str) -> str:
    series = series_of(metric)
    ways = Counter(
        "rose" if trend.change > 0 else "fell"
        for trial in cell.valid
        for trend in trial.trends
        if trend.series == series
    )
    told = ", ".join(f"{way} in {count}" for way, count in ways.items())
    return f"{told} of {len(cell.valid)} window{'s' * (len(cell.valid) != 1)}" if told else ""
