"""Writing the pages of all trials."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.findings import Findings
from analysis.names import trial_page
from analysis.partial import located
from analysis.plots.cells import colours
from analysis.report.page import Pages
from analysis.report.provenance import Source
from analysis.report.shown import estimated
from analysis.report.trialview import trial_view
from analysis.worded import metrics_for


def write_trials(folder: Path, findings: Findings, found: Sequence[Source], pages: Pages) -> tuple[str, ...]:
    """A page in `folder` for every trial that was run.  One that fails says why, as does a line of what is returned."""
    failed = []
    colour = colours(findings)
    means = {
        cell.name: {name: estimated(metric, cell.estimate(name)) for name, metric in metrics_for([cell]).items()}
        for cell in findings.cells
    }
    for source in found:
        cell = source.cell
        path = folder / trial_page(cell.name, source.number)
        try:
            shown = trial_view(findings, source, colour=colour[cell.name], means=means[cell.name])
            text = pages.fill("trial.html.j2", shown)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other pages stand
            why = located(error)
            text = pages.fill("failed.html.j2", {"title": f"{cell.name}, trial {source.number}", "why": why})
            failed.append(f"page not made: trials/{path.name}: {why}")
        path.write_text(text)
    return tuple(failed)
