"""What the template shows, as plain values: no arithmetic happens in the template."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.backlog import growing_line, growing_text
from analysis.compare import Comparison, Match, comparisons, describe, held, level_of, matches, unequal
from analysis.extent import Extent
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.headlines import headlines, leading, trends_line, verdict_line
from analysis.metric import Metric
from analysis.metrics import INTERRUPTED, KEY
from analysis.names import trial_page
from analysis.plots.section import Section
from analysis.plots.sketch import Sketch
from analysis.plots.style import Plot
from analysis.plots.svg import svg
from analysis.report import provenance, timeline
from analysis.report.flows import flow_rows
from analysis.report.journey import journey_table
from analysis.report.limits import limited_cell
from analysis.report.places import places, untimed
from analysis.report.provenance import Source
from analysis.report.shown import amount, estimated, number
from analysis.report.why import Why, why
from analysis.units import difference_text, factor_text, times_text
from analysis.worded import chosen, is_programs, metrics_for, words_for
from records.commands import FAILED
from records.link import LinkProof
from records.manifest import Manifest

MOST_FLOWS = 24  # per cell in the page; all of them are in tables/flows.csv
_PER_TRIAL = (
    "delivered_per_s", "published_per_s", "latency_p50_s", "latency_p99_s", "response_p50_s", "response_p99_s",
    "loss_share", "longest_silence_s", "air_utilisation",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Plots:
    """sections: of whole-campaign plots; journey: one for each group of cells; latency, overtime, bars: by cell name.

    answer: what the first screen shows, None without a valid trial.
    bars: what `journey` says of one cell, for its own section.
    """

    answer: Plot | None
    sections: tuple[Section, ...]
    journey: tuple[Plot, ...]
    latency: dict[str, Plot]
    overtime: dict[str, Plot]
    bars: dict[str, Sketch]

    @property
    def all(self) -> tuple[Plot, ...]:
        """Each plot once.  ValueError where two plots have one file name."""
        first = [self.answer] if self.answer else []
        every = [
            *first,
            *(plot for one in self.sections for plot in one.plots),
            *self.journey,
            *self.latency.values(),
            *self.overtime.values(),
        ]
        once = {id(plot): plot for plot in every}.values()
        twice = [name for name, count in Counter(plot.name for plot in once).items() if count > 1]
        if twice:
            raise ValueError(f"two plots of the report are called {twice[0]!r}; each is a file of its own")
        return tuple(once)


def view(findings: Findings, plots: Plots, found: Sequence[Source], *, extent: Extent, again: str) -> dict[str, Any]:
    """Everything the template needs.  found: where the trials come from.  again: the command that makes the report."""
    valid = sum(cell.count(Standing.VALID) for cell in findings.cells)
    told = [table for cell in findings.cells if (table := journey_table(cell.valid)).rows]
    known, words = metrics_for(findings.cells), words_for(findings.cells)
    key = _there(chosen(KEY, findings.cells, of_programs=("air_utilisation",)), findings)
    detailed = extent is not Extent.NONE
    per_trial = _there(chosen(_PER_TRIAL, findings.cells, of_programs=(FAILED, "air_utilisation")), findings)
    whys = {cell.name: why(cell.trials) for cell in findings.cells}
    return {
        "campaign": findings.campaign,
        "name": findings.folder.name,
        "extent": extent.value,
        "again": again,
        "verdict": verdict_line(findings),
        "trends": " ".join(filter(None, (trends_line(findings), growing_line(findings)))),
        "tone": "good" if valid == len(findings.trials) else "mixed" if valid else "bad",
        "believed": "Yes" if valid == len(findings.trials) else "In part" if valid else "No",
        "answer": drawing(plots.answer) if plots.answer else None,
        "compared": compared.factor if (compared := findings.campaign.compared) else "",
        "comparable": [name for name, levels in findings.campaign.factors.items() if len(levels) > 1],
        "lead": leading(findings),
        "headlines": headlines(findings),
        "standings": [
            one.value for one in Standing
            if one is Standing.VALID or any(trial.standing is one for trial in findings.trials)
        ],
        "verdicts": [
            _verdict_row(cell, whys[cell.name])
            | {"limited": limited_cell(found, cell.name), "place": places(_manifests(found, cell.name))}
            for cell in findings.cells
        ],
        "untimed": untimed(with_links(found)),
        "stopping": any(cell.precision is not None for cell in findings.cells),
        "whys": any(one.lines for one in whys.values()),
        "comparison": [_match(findings, match, other) for match in matches(findings) for other in match.others],
        "key_metrics": [known[name] for name in key],
        "overview": [
            [cell.name, title_of(cell), [estimated(known[n], cell.estimate(n)) for n in key]]
            for cell in findings.cells
        ],
        "receiver": words.receiver,
        "interrupted_metrics": [known[name] for name in INTERRUPTED],
        "interrupted": [[cell.name, title_of(cell), [estimated(known[n], cell.estimate(n)) for n in INTERRUPTED]]
                        for cell in findings.cells if cell.estimate("interruptions") is not None],
        "plot_sections": [(one.title, [drawing(plot) for plot in one.plots], one.failed) for one in plots.sections],
        "latency_plots": [drawing(plot) for plot in {p.name: p for p in plots.latency.values()}.values()],
        "journey_plots": [drawing(plot) for plot in plots.journey],
        "journey_what": list(dict.fromkeys(one.what for one in told)),
        "journey_whose": list(dict.fromkeys(one.whose for one in told)),
        "journey_by_packets": any(not one.by_nodes for one in told),
        "journey_by_nodes": any(one.by_nodes for one in told),
        "journey_untold": _untold(findings),
        "cells": [
            _cell(cell, plots, per_trial, known, extent) | {"why": whys[cell.name].lines}
            for cell in (findings.cells if detailed else ())
        ],
        "per_trial": [known[name] for name in per_trial],
        "glossary": [(known[name].label, known[name].about) for name in _had(tuple(known), findings)],
        "facts": provenance.facts(found),
        "links": provenance.link_rows(found),
        "losses": provenance.loss_lines(found),
        "dumps": provenance.dumps(found),
        "captures": provenance.capture_lines(found),
    }  # fmt: skip


def _manifests(found: Sequence[Source], cell: str | None = None) -> list[Manifest]:
    return [one.manifest for one in found if one.manifest is not None and cell in (None, one.cell.name)]


def with_links(found: Sequence[Source]) -> list[tuple[Manifest, LinkProof]]:
    """Manifest and link proof of the trials that have both."""
    return [(one.manifest, one.link) for one in found if one.manifest is not None and one.link is not None]


def _there(names: Sequence[str], findings: Findings) -> list[str]:
    """Those of these metrics that a trial has (all, where no trial has any), a latency as all cells define it."""
    return _had([held(name, *findings.cells) for name in names], findings)


def _had(names: Sequence[str], findings: Findings) -> list[str]:
    """Those of these metrics that a trial has; all, where no trial has any."""
    has = {name for trial in findings.trials for name in trial.metrics}
    return [name for name in names if name in has] or list(names)


def title_of(cell: CellFinding) -> str:
    """What a cell is called."""
    return describe(cell.levels) or cell.name


def drawing(shown: Plot | Sketch) -> dict[str, str]:
    """A plot as the templates show it, inside the page."""
    data = shown.svg if isinstance(shown, Plot) else svg(shown)
    address = "data:image/svg+xml;base64," + base64.b64encode(data).decode()
    return {"title": shown.title, "about": shown.about, "data": address}


def _untold(findings: Findings) -> list[tuple[str, str]]:
    """Which cells have no valid trial whose time could be split, and why; cells of one reason together."""
    reasons: dict[str, list[str]] = {}
    messages = [cell for cell in findings.cells if not is_programs(cell)]
    for cell in messages:
        table = journey_table(cell.valid)
        if not table.rows:
            reasons.setdefault("; ".join(table.why) or "no trial is valid", []).append(title_of(cell))
    every = len(messages)
    return [("All cells" if len(titles) == every else " / ".join(titles), why) for why, titles in reasons.items()]


def _verdict_row(cell: CellFinding, told: Why) -> dict[str, Any]:
    counts = {standing.value: cell.count(standing) for standing in Standing}
    return {
        "name": cell.name,
        "title": title_of(cell),
        "counts": counts,
        "stopping": cell.precision.text if cell.precision else "",
        "why": told,
    }


def _match(findings: Findings, match: Match, other: CellFinding) -> dict[str, Any]:
    level = level_of(findings, other)
    apart = [level] if len(match.others) > 1 else []  # else its tables would have one heading
    return {
        "title": " · ".join(filter(None, [match.title, *apart])) or "All cells",
        "baseline": level_of(findings, match.baseline),
        "other": level,
        "unequal": unequal(match.baseline, other),
        "cells": (match.baseline.name, other.name),
        "paired": {trial.seed for trial in match.baseline.valid} & {trial.seed for trial in other.valid},
        "rows": [_comparison(one) for one in comparisons(match, other)],
    }


def _comparison(one: Comparison) -> dict[str, Any]:
    metric = metrics_for([one.baseline, one.other])[one.metric]
    both_zero = one.before and one.after and one.before.mean == one.after.mean == 0
    certain = both_zero and (one.difference is None or not one.difference.half_width)
    return {
        "label": metric.label,
        "about": metric.about,
        "before": estimated(metric, one.before),
        "after": estimated(metric, one.after),
        "ratio": number(one.ratio.ratio, "both zero" if both_zero else factor_text(one.ratio) if one.ratio.n else "–"),
        "words": "" if certain else times_text(one.ratio) or difference_text(metric, one.difference),
        "tone": one.tone,
    }


def _cell(
    cell: CellFinding, plots: Plots, per_trial: Sequence[str], known: Mapping[str, Metric], extent: Extent
) -> dict[str, Any]:
    words, mine = words_for([cell]), metrics_for([cell])
    images = [plots.overtime.get(cell.name), plots.bars.get(cell.name)]
    return {
        "name": cell.name,
        "title": title_of(cell),
        "trials": [_trial(trial, {**known, **mine}, per_trial, extent) for trial in cell.trials],
        "trends": [
            *(f"Every latency here: {text}." for text in [growing_text(cell)] if text),
            *(f"Trial {trial.number}: {one.text(words)}" for trial in cell.trials for one in trial.trends),
        ],
        "metrics": [
            (metric.label, estimated(metric, found), found.n)
            for metric in mine.values()
            if (found := cell.estimate(metric.name)) is not None
        ],
        "plots": [drawing(image) for image in images if image is not None],
        "journey": journey_table(cell.valid),
        "events": timeline.event_table(cell),
        "flows": flow_rows(cell.trials, most=MOST_FLOWS),
    }


def _trial(trial: TrialFinding, known: Mapping[str, Metric], names: Sequence[str], extent: Extent) -> dict[str, Any]:
    return {
        "number": trial.number,
        "page": trial_page(trial.cell, trial.number) if trial.path and extent is Extent.ALL else "",
        "state": trial.standing.value,
        "values": [amount(known[name], trial.metrics.get(name), at_least=name in trial.at_least) for name in names],
    }
