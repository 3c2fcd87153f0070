"""The parts of a trial's page that move: other trials have a share in them, so each report writes them anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.findings import CellFinding, TrialFinding
from analysis.metric import Metric
from analysis.names import trial_page
from analysis.report.page import Pages
from analysis.report.places import untimed
from analysis.report.provenance import Source
from analysis.report.shown import Shown, amount, estimated
from analysis.report.view import with_links
from analysis.report.why import is_rerun, run_again
from analysis.worded import metrics_for, words_for

_MOST_LINKS, _AROUND = 24, 5  # trials of the cell that a page leads to; of more, so many before and after its own
_TEMPLATE = "trialparts.html.j2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """What a trial's page says of its cell's other trials.

    place: of each trial that was run among `there`, by its number.  means: the cell's, by metric.
    """

    cell: CellFinding
    there: Sequence[TrialFinding]
    place: Mapping[int, int]
    metrics: Mapping[str, Metric]
    means: Mapping[str, Shown]

    def trial(self, number: int) -> TrialFinding:
        """The trial of that number."""
        return self.there[self.place[number]]


def among(cell: CellFinding) -> Among:
    """That of a cell."""
    there = [trial for trial in cell.trials if trial.path is not None]
    metrics = metrics_for([cell])
    return Among(
        cell=cell, there=there, place={trial.number: place for place, trial in enumerate(there)}, metrics=metrics,
        means={name: estimated(metric, cell.estimate(name)) for name, metric in metrics.items()},
    )  # fmt: skip


def trial_parts(of: Among, source: Source, pages: Pages) -> dict[str, str]:
    """Text by name, of every part whose marks are in the template of a trial's page."""
    trial = of.trial(source.number)
    figures = [
        (
            metric.label,
            metric.about,
            amount(metric, trial.metrics[name], at_least=name in trial.at_least),
            of.means[name],
        )
        for name, metric in of.metrics.items()
        if name in trial.metrics
    ]
    return {
        "neighbours": pages.macro(_TEMPLATE, "neighbours", _neighbours(of.cell.name, of.there, of.place[trial.number])),
        "notes": pages.macro(_TEMPLATE, "notes", run_again(trial.reasons), _notes(of.cell, trial, source)),
        "figures": pages.macro(_TEMPLATE, "figures", figures),
    }


def _neighbours(cell: str, there: Sequence[TrialFinding], here: int) -> list[list[tuple[str, int]]]:
    """Page and number of the trials of a cell; no page for the one at place `here` itself.

    Of many only the first, the last and those around this one: runs, between which some are left out.
    """
    count = len(there)
    near = range(max(here - _AROUND, 0), min(here + _AROUND + 1, count))
    runs: list[list[tuple[str, int]]] = []
    last = -2
    for place in range(count) if count <= _MOST_LINKS else sorted({0, *near, count - 1}):
        if place > last + 1:
            runs.append([])
        page = "" if place == here else trial_page(cell, there[place].number)
        runs[-1].append((page, there[place].number))
        last = place
    return runs


def _notes(cell: CellFinding, trial: TrialFinding, source: Source) -> list[str]:
    """What is said of the trial beside its health checks, which have a table of their own."""
    checks, words = source.verdict.checks if source.verdict else (), words_for([cell])
    said = {check.reason for check in checks}
    mine = [reason for reason in trial.reasons if reason not in said and not is_rerun(reason)]
    return [*mine, *(one.text(words) for one in trial.trends), *filter(None, [untimed(with_links([source]))])]
