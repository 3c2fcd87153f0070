"""The report's tables as CSV: SI units, one header line, empty where there is no value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.compare import comparisons, matches, unequal
from analysis.findings import Findings, Standing
from analysis.journey.parts import EVERY, KEYS, LATENCY, ordered
from analysis.report.detailtables import Row, write_detail_tables
from analysis.statistics import bootstrap_mean
from analysis.worded import metrics_for, words_for
from records.spreadsheet import write_csv


def write_tables(folder: Path, findings: Findings) -> None:
    """Write trials, cells, comparison, flows, seconds, trends, percentiles, latency-ecdf and journey (.csv).

    Where a link has changed, events.csv too; where there was a stopping rule, stopping.csv.
    """
    factors, known = list(findings.campaign.factors), metrics_for(findings.cells)
    found = (part for trial in findings.trials for journey in trial.journey.values() for part in journey)
    parts = ordered((*EVERY, *(part for part in found if part != LATENCY)))
    shapes: dict[str, tuple[Row, Iterator[Row]]] = {
        "trials": (
            ["cell", *factors, "trial", "seed", "state", *known, "reasons", "trends", "lower_bounds", "latency_of"],
            _trials(findings, factors, tuple(known)),
        ),
        "cells": (
            ["cell", *factors, *Standing, "metric", "unit", "n", "mean", "ci95_low",
             "ci95_high", "lower_bound", "bootstrap95_low", "bootstrap95_high"],
            _cells(findings, factors),
        ),
        "comparison": (
            ["baseline", "other", "metric", "unit", "baseline_mean", "other_mean", "pairs", "ratio", "ci95_low",
             "ci95_high", "bootstrap95_low", "bootstrap95_high", "undefined", "answer", "detectable_ratio",
             "difference", "difference_ci95_half_width", "effect_size_dz", "guarantees"],
            _comparison(findings),
        ),
        "trends": (
            ["cell", "trial", "state", "series", "change_share_of_mean", "p", "p_adjusted", "told"], _trends(findings)
        ),
        "percentiles": (
            ["cell", "trial", "state", "percentile", "latency_s", "order95_low_s", "order95_high_s", "lower_bound",
             "latency_of"],
            _percentiles(findings),
        ),
        "journey": (
            ["cell", "trial", "state", "attributed_share", "of", *(f"{part}_s" for part in (LATENCY, *parts)), "why",
             "latency_of"],
            _journey(findings, parts),
        ),
    }  # fmt: skip
    if any(trial.events for trial in findings.trials):
        shapes["events"] = (["cell", "trial", "state", "asked_s", "in_force_s", "label"], _events(findings))
    if findings.campaign.stopping:
        shapes["stopping"] = (["cell", "run", "valid", "metric", "end", "n", "half_width_share"], _stopping(findings))
    for name, (header, rows) in shapes.items():
        write_csv(folder / f"{name}.csv", header, rows)
    write_detail_tables(folder, findings.trials)


def _trials(findings: Findings, factors: Sequence[str], names: Sequence[str]) -> Iterator[Row]:
    for cell in findings.cells:
        levels, words = [cell.levels.get(factor, "") for factor in factors], words_for([cell])
        for trial in cell.trials:
            metrics = [trial.metrics.get(name, "") for name in names]
            reasons = "; ".join(trial.reasons)
            trends = "; ".join(one.text(words) for one in trial.trends)
            bounds = "; ".join(name for name in names if name in trial.at_least)
            yield [cell.name, *levels, trial.number, trial.seed, trial.standing, *metrics, reasons, trends, bounds,
                   trial.latency_of]  # fmt: skip


def _cells(findings: Findings, factors: Sequence[str]) -> Iterator[Row]:
    for cell in findings.cells:
        levels = [cell.levels.get(factor, "") for factor in factors]
        counts = [cell.count(standing) for standing in Standing]
        for name, metric in metrics_for([cell]).items():
            if (found := cell.estimate(name)) is not None:
                spread = [found.low, found.high, "yes" if found.at_least else "no", *_ends(cell.spread(name))]
                yield [cell.name, *levels, *counts, name, metric.unit, found.n, found.mean, *spread]


def _comparison(findings: Findings) -> Iterator[Row]:
    for match in matches(findings):
        for other in match.others:
            for one in comparisons(match, other):
                means = ["" if found is None else found.mean for found in (one.before, one.after)]
                ratio = [one.ratio.n, one.ratio.ratio, one.ratio.low, one.ratio.high, *(one.bootstrap or (None, None)),
                         one.ratio.undefined, one.answer, one.ratio.detectable]  # fmt: skip
                apart = (one.difference.centre, one.difference.half_width) if one.difference else (None, None)
                unit = metrics_for([match.baseline, other])[one.metric].unit
                yield [match.baseline.name, other.name, one.metric, unit, *means, *ratio, *apart,
                       one.effect, unequal(match.baseline, other) or "equal"]  # fmt: skip


def _ends(values: Sequence[float]) -> Row:
    return bootstrap_mean(values) or ("", "")


def _stopping(findings: Findings) -> Iterator[Row]:
    for cell in findings.cells:
        if (found := cell.precision) is None:
            continue
        for one in found.metrics:
            share = "" if one.share is None else one.share
            yield [cell.name, found.run, found.valid, one.metric, one.end, one.n, share]


def _trends(findings: Findings) -> Iterator[Row]:
    for trial in findings.trials:
        for one in trial.trend_tests:
            yield [trial.cell, trial.number, trial.standing, one.series, one.change, one.p, one.p_adjusted,
                   "yes" if one.told else "no"]  # fmt: skip


def _percentiles(findings: Findings) -> Iterator[Row]:
    for trial in findings.trials:
        for name, found in trial.percentiles.items():
            yield [trial.cell, trial.number, trial.standing, name,
                   *(found.get(part, "") for part in ("latency", "low", "high")),
                   "yes" if name in trial.at_least else "no", trial.latency_of]  # fmt: skip


def _events(findings: Findings) -> Iterator[Row]:
    for trial in findings.trials:
        for event in trial.events:
            yield [trial.cell, trial.number, trial.standing, event.asked_s, event.real_s, event.label]


def _journey(findings: Findings, parts: Sequence[str]) -> Iterator[Row]:
    """A row for the mean and each percentile; of a trial that has none, one row that says why."""
    for trial in findings.trials:
        head = [trial.cell, trial.number, trial.standing, trial.metrics.get("journey_share", "")]
        for key in KEYS:
            if key in trial.journey:
                values = [trial.journey[key].get(part, "") for part in (LATENCY, *parts)]
                yield [*head, key, *values, trial.journey_why, trial.latency_of]
        if not trial.journey:
            yield [*head, *[""] * (len(parts) + 2), trial.journey_why, trial.latency_of]
