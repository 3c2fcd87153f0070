"""What the template shows, as plain values: no arithmetic happens in the template."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.compare import FACTOR, Comparison, Match, comparisons, describe, matches
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.headlines import headlines, trends_line, verdict_line
from analysis.metrics import KEY, METRICS
from analysis.plots.style import Plot
from analysis.report import provenance, timeline
from analysis.units import NOTABLE, difference_text, factor_text, interval, quantity, times_text

MOST_FLOWS = 24  # per cell in the page; all of them are in tables/flows.csv
_PER_TRIAL = (
    "delivered_per_s", "published_per_s", "latency_p50_s", "latency_p99_s", "loss_share", "longest_silence_s",
    "air_utilisation",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Plots:
    """cells: whole-campaign plots; latency, overtime: by cell name."""

    cells: tuple[Plot, ...]
    latency: dict[str, Plot]
    overtime: dict[str, Plot]

    @property
    def all(self) -> tuple[Plot, ...]:
        """Each plot once."""
        every = [*self.cells, *self.latency.values(), *self.overtime.values()]
        return tuple({plot.name: plot for plot in every}.values())


def view(findings: Findings, plots: Plots) -> dict[str, Any]:
    """Everything the template needs."""
    found = provenance.sources(findings)
    valid = sum(cell.count(Standing.VALID) for cell in findings.cells)
    return {
        "campaign": findings.campaign,
        "name": findings.folder.name,
        "verdict": verdict_line(findings),
        "trends": trends_line(findings),
        "tone": "good" if valid == len(findings.trials) else "mixed" if valid else "bad",
        "headlines": headlines(findings),
        "standings": [standing.value for standing in Standing],
        "verdicts": [_verdict_row(cell) for cell in findings.cells],
        "reasons": any(trial.reasons for trial in findings.trials),
        "comparison": [_match(match, other) for match in matches(findings) for other in match.others],
        "key_metrics": [METRICS[name] for name in KEY],
        "overview": [[cell.name, _title(cell), [interval(METRICS[n], cell.estimate(n)) for n in KEY]]
                     for cell in findings.cells],
        "cell_plots": [_image(plot) for plot in plots.cells],
        "latency_plots": [_image(plot) for plot in {p.name: p for p in plots.latency.values()}.values()],
        "time_plots": [_image(plot) for plot in plots.overtime.values()],
        "cells": [_cell(cell, plots) for cell in findings.cells],
        "per_trial": [METRICS[name] for name in _PER_TRIAL],
        "glossary": [(metric.label, metric.about) for metric in METRICS.values()],
        "facts": provenance.facts(found),
        "links": provenance.link_rows(found),
        "losses": provenance.loss_lines(found),
        "dumps": provenance.dumps(found),
        "captures": provenance.capture_lines(found),
    }  # fmt: skip


def _title(cell: CellFinding) -> str:
    return describe(cell.levels) or cell.name


def _image(plot: Plot) -> dict[str, str]:
    return {
        "name": plot.name,
        "title": plot.title,
        "about": plot.about,
        "data": "data:image/svg+xml;base64," + base64.b64encode(plot.svg).decode(),
    }


def _verdict_row(cell: CellFinding) -> dict[str, Any]:
    counts = {standing.value: cell.count(standing) for standing in Standing}
    reasons = dict.fromkeys(
        f"trial {trial.number}: {reason}" for trial in cell.trials for reason in trial.reasons
    )  # fmt: skip
    return {"name": cell.name, "title": _title(cell), "counts": counts, "reasons": list(reasons)}


def _match(match: Match, other: CellFinding) -> dict[str, Any]:
    return {
        "title": match.title,
        "baseline": match.baseline.levels[FACTOR],
        "other": other.levels[FACTOR],
        "cells": (match.baseline.name, other.name),
        "paired": {trial.seed for trial in match.baseline.valid} & {trial.seed for trial in other.valid},
        "rows": [_comparison(one) for one in comparisons(match, other)],
    }


def _comparison(one: Comparison) -> dict[str, str]:
    metric = METRICS[one.metric]
    both_zero = one.before and one.after and one.before.mean == one.after.mean == 0
    return {
        "label": metric.label,
        "about": metric.about,
        "before": interval(metric, one.before),
        "after": interval(metric, one.after),
        "ratio": "both zero" if both_zero else factor_text(one.ratio) if one.ratio.n else "–",
        "words": "" if both_zero else times_text(one.ratio) or difference_text(metric, one.difference),
        "tone": _tone(one),
    }


def _tone(one: Comparison) -> str:
    better = METRICS[one.metric].better
    ratio = one.ratio.ratio
    if not one.ratio.differs or better is None or ratio is None or abs(ratio - 1) < NOTABLE:
        return "even"
    return "better" if (ratio > 1) == (better == "higher") else "worse"


def _cell(cell: CellFinding, plots: Plots) -> dict[str, Any]:
    images = [plots.overtime.get(cell.name), plots.latency.get(cell.name)]
    flows = [row for trial in cell.trials for row in _flow_rows(trial)]
    flows.sort(key=lambda row: (row["trial"], -row["bytes"]))
    return {
        "name": cell.name,
        "title": _title(cell),
        "trials": [_trial(trial) for trial in cell.trials],
        "reasons": any(trial.reasons for trial in cell.trials),
        "trends": [f"Trial {trial.number}: {one.text}" for trial in cell.trials for one in trial.trends],
        "metrics": [
            (metric.label, interval(metric, found), found.n)
            for metric in METRICS.values()
            if (found := cell.estimate(metric.name)) is not None
        ],
        "plots": [_image(plot) for plot in images if plot is not None],
        "events": timeline.event_table(cell),
        "flows": _largest(flows),
        "flows_left": len(flows) - len(_largest(flows)),
    }


def _largest(flows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = sorted(flows, key=lambda row: -row["bytes"])[:MOST_FLOWS]
    return [row for row in flows if row in kept]


def _trial(trial: TrialFinding) -> dict[str, Any]:
    return {
        "number": trial.number,
        "seed": trial.seed,
        "state": trial.standing.value,
        "values": [quantity(METRICS[name], trial.metrics.get(name)) for name in _PER_TRIAL],
        "reasons": trial.reasons,
    }


def _flow_rows(trial: TrialFinding) -> list[dict[str, Any]]:
    time = METRICS["rtt_mean_uplink_s"]
    return [
        {
            "trial": trial.number,
            "flow": flow,
            "direction": trial.directions.get(flow, ""),
            "packets": int(figures["packets"]),
            "bytes": int(figures["wire_bytes"]),
            "data": int(figures["data_packets"]),
            "retr": int(figures["retr_or_ooo"]),
            "dup": int(figures["duplicate_acks"]),
            "rtt": [quantity(time, figures.get(name)) for name in ("rtt_mean_s", "rtt_p50_s", "rtt_p95_s")],
            "samples": int(figures["rtt_samples"]),
        }
        for flow, figures in trial.flows.items()
    ]
