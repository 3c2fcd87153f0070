"""Writing the pages of all trials, and removing those of an earlier report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from markupsafe import Markup

from analysis.findings import Findings
from analysis.names import is_trial_page, trial_page
from analysis.plots.cells import colours
from analysis.report.keptpages import KeptPages, kept_pages, part
from analysis.report.page import Pages
from analysis.report.provenance import Source
from analysis.report.trialparts import among, trial_parts
from analysis.report.trialview import Subject, subject_of, trial_view
from analysis.sidebyside import processes_for, side_by_side
from records.raised import located

KEPT_ABOVE = 256  # trials: to tell by which code pages were drawn takes as long as drawing some dozens


def write_trials(
    folder: Path, findings: Findings, found: Sequence[Source], pages: Pages, *, earlier: Path | None = None,
    processes: int | None = None,
) -> tuple[str, ...]:  # fmt: skip
    """A page in `folder` for every trial that was run.  One that fails says why, as does a line of what is returned.

    earlier: where the last report has its pages; what of them would be drawn again is kept.  processes: that make them,
    to the same bytes however many these are; None = as many as are worth it.
    """
    colour = colours(findings)
    cells = {cell.name: among(cell) for cell in findings.cells}
    kept = kept_pages(earlier, pages) if len(found) > KEPT_ABOVE else KeptPages(earlier=None, drawn_by="", key=b"")

    def drawn(subject: Subject) -> str:
        shown = trial_view(subject)
        return pages.fill("trial.html.j2", {**shown, "part": lambda name: Markup(part(name))})  # noqa: S704 - no data

    def written(number: int) -> str:
        """Write the page of found[number]; why that failed, '' where it did not."""
        source, why = found[number], ""
        name = source.cell.name
        path = folder / trial_page(name, source.number)
        try:
            subject = subject_of(findings, source, cells[name].trial(source.number), colour=colour[name])
            parts = trial_parts(cells[name], source, pages)
            text = kept.page(path.name, subject, partial(drawn, subject), parts)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other pages stand
            why = located(error)
            text = pages.fill("failed.html.j2", {"title": f"{name}, trial {source.number}", "why": why})
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
