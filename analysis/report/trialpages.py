"""Writing the pages of all trials, and removing those of an earlier report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from analysis.findings import Findings
from analysis.names import is_trial_page, trial_page
from analysis.partial import located
from analysis.plots.cells import colours
from analysis.report.page import Pages
from analysis.report.provenance import Source
from analysis.report.shown import estimated
from analysis.report.trialview import trial_view
from analysis.sidebyside import processes_for, side_by_side
from analysis.worded import metrics_for


def write_trials(
    folder: Path, findings: Findings, found: Sequence[Source], pages: Pages, *, processes: int | None = None
) -> tuple[str, ...]:
    """A page in `folder` for every trial that was run.  One that fails says why, as does a line of what is returned.

    processes: that make them, to the same bytes however many these are; None = as many as are worth it.
    """
    colour = colours(findings)
    means = {
        cell.name: {name: estimated(metric, cell.estimate(name)) for name, metric in metrics_for([cell]).items()}
        for cell in findings.cells
    }

    def written(number: int) -> str:
        """Write the page of found[number]; why that failed, '' where it did not."""
        source, why = found[number], ""
        cell = source.cell
        path = folder / trial_page(cell.name, source.number)
        try:
            shown = trial_view(findings, source, colour=colour[cell.name], means=means[cell.name])
            text = pages.fill("trial.html.j2", shown)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other pages stand
            why = located(error)
            text = pages.fill("failed.html.j2", {"title": f"{cell.name}, trial {source.number}", "why": why})
        path.write_text(text)
        return f"page not made: trials/{path.name}: {why}" if why else ""

    failed = side_by_side(written, len(found), processes=processes or processes_for(len(found)))
    return tuple(filter(None, failed))


def remove_pages(folder: Path) -> None:
    """Remove the pages of trials in `folder`, and the folder if nothing else is in it; what is no such page stays."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if is_trial_page(path.name) and path.is_file():
            path.unlink()
    with suppress(OSError):
        folder.rmdir()
