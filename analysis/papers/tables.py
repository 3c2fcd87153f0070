"""The tables of a study's page: published values, ours, and the ratios of networks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analysis.claims import wording
from analysis.claims.outcomes import Outcome
from analysis.estimates import of_values
from analysis.metric import Metric
from analysis.metrics import METRICS
from analysis.papers.published import PRINTED, HowExact, Point
from analysis.papers.result import BoundRow, Figures, NetworkRatio, PaperResult, Row
from analysis.report.shown import Shown, amount, estimated, number
from analysis.units import digits, interval, quantity

_RATE = " msg/s"  # said once, above the table


def metric_table(result: PaperResult, name: str) -> dict[str, Any]:
    """A table: the rows of which this metric was published."""
    mine = [(row, [one for one in row.figures if one.quantity.metric == name]) for row in result.rows]
    return {
        "label": METRICS[name].label,
        "unit": "messages per second" if METRICS[name].unit == "1/s" else "",
        "rows": [
            _named(row) | {"cells": [cell for one in found for cell in _figures(one)]}
            for row, found in mine
            if any(one.published for one in found)
        ],
    }


def ratio_table(result: PaperResult) -> dict[str, Any]:
    """Networks by the baseline, where both were published; no rows where the study has one network."""
    baseline, *others = result.paper.networks
    many = len(others) > 1
    name = "networks" if many else "".join(others)
    rows = [(row, [one for one in row.ratios if one.published.centre is not None]) for row in result.rows]
    published = {(one.metric, one.network) for _, found in rows for one in found}
    return {
        "heading": f"{name[:1].upper()}{name[1:]} by {baseline}",
        "columns": [
            METRICS[metric].label + (f", {network}" if many else "")
            for metric in result.paper.metrics
            for network in others
            if (metric, network) in published
        ],
        "rows": [
            _named(row)
            | {"cells": [cell for one in row.ratios if (one.metric, one.network) in published for cell in _ratio(one)]}
            for row, found in rows
            if found
        ],
    }


def _named(row: Row) -> dict[str, Any]:
    case = row.row
    factors = case.factors
    clients = "/".join(factors[name] for name in ("publishers", "subscribers", "topics") if name in factors)
    rest = [text for name, text in factors.items() if name not in ("publishers", "subscribers", "topics", "selector")]
    selector = ["selector"] if factors.get("selector") == "yes" else []
    return {
        "case": case.case,
        "reading": "" if case.reading == PRINTED else case.reading,
        "note": case.note,
        "factors": ", ".join(filter(None, [clients, *rest, *selector])),
    }


def _figures(one: Figures) -> tuple[Shown, ...]:
    metric = METRICS[one.quantity.metric]
    cells = _stated(one.published), estimated(metric, one.ours), estimated(metric, one.from_go)
    plain = [replace(cell, text=cell.text.removesuffix(_RATE)) for cell in cells]
    return plain[0], replace(plain[1], aside=one.doubts), plain[2]


def _stated(point: Point | None) -> Shown:
    """A published value, and how exact it is."""
    if point is None:
        return Shown("–")
    shown = amount(METRICS[point.metric], point.value)
    aside = "derived" if point.how_exact is HowExact.DERIVED else ""
    return replace(shown, text=point.how_exact.sign + shown.text, aside=aside)


def _ratio(one: NetworkRatio) -> tuple[Shown, Shown]:
    return _effect(one.published), _effect(one.ours)


def _effect(found: Outcome) -> Shown:
    if found.centre is None or not found.alike:
        return Shown("–", aside=found.why if not found.alike else "")
    return number(found.centre, wording.effect(found))


def bound_row(row: BoundRow) -> dict[str, Any]:
    """A row that the link decides."""
    quantity = row.figures.quantity
    metric = METRICS[quantity.metric]
    return {
        "case": quantity.case,
        "metric": metric.label,
        "published": _stated(row.figures.published),
        "ours": Shown(interval(metric, row.figures.ours), None if row.ratio is None else row.ratio),
        "ratio": number(row.ratio, None if row.ratio is None else digits(row.ratio)),
        "near": row.near,
        "from_go": Shown(interval(metric, row.figures.from_go), row.ratio_from_go),
        "ratio_from_go": number(row.ratio_from_go, None if row.ratio_from_go is None else digits(row.ratio_from_go)),
        "near_from_go": row.near_from_go,
    }


def computed_rows(result: PaperResult) -> list[dict[str, Any]]:
    """What the study computes or simulates: what it is, what was published of it, ours, and the command."""
    asked = result.paper.record.computed
    stated: dict[tuple[str, str], list[Point]] = {}
    for point in result.paper.points:
        stated.setdefault((point.case, point.metric), []).append(point)
    return [
        {
            "case": case,
            "what": asked.cases[case] if asked else "",
            "published": "; ".join(_said(METRICS[metric], point) for point in stated.get((case, metric), ())) or "–",
            "ours": quantity(METRICS[metric], next(iter(found.values.values())))
            if found.exact
            else interval(METRICS[metric], of_values(metric, list(found.values.values()))),
            "seeds": "" if found.exact else f"{len(found.values)} seeds",
            "command": found.command,
        }
        for (case, metric), found in result.evidence.computed.items()
    ]


def _said(metric: Metric, point: Point) -> str:
    of = "" if point.reading == PRINTED else f" ({point.reading})"
    return f"{point.how_exact.sign}{quantity(metric, point.value)}{of}"
