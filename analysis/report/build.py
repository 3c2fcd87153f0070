"""Building the report of a campaign from its folder alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from analysis.details import Reduced
from analysis.findings import Findings, gather
from analysis.plots.answer import answer_plot
from analysis.plots.journeybars import journey_bars, journey_plots
from analysis.plots.latency import latency_plots
from analysis.plots.overtime import overtime_plots
from analysis.plots.section import Section, attempted, drawn
from analysis.reductions.reduce import reducing, silent
from analysis.report.failures import not_analysed, not_drawn
from analysis.report.page import Pages
from analysis.report.provenance import sources
from analysis.report.publish import staged
from analysis.report.summary import SUMMARY, summarise
from analysis.report.tables import write_tables
from analysis.report.trialpages import write_trials
from analysis.report.view import Plots, view
from analysis.spark.target import Say, Where
from records.campaign import read_campaign
from records.store import trials, write_record

REPORT = "report.html"
WRITTEN = ("plots", "tables", "trials", REPORT)  # the last when all others are there
T = TypeVar("T")


class NothingToReport(Exception):
    """The campaign has no finished trial; the message names its folder."""


def build(campaign: Path, *, master: Where = None, by: str | None = None, say: Say = silent) -> Path:
    """Write report.html, trials/, plots/ and tables/ into the campaign's folder; returns the path of report.html.

    master: the Spark master (None = this machine, or the server that SPARK_REMOTE names).  by: the factor whose levels
    are compared (None = the one that the campaign names).  say: takes a line about reductions made again.  Raises
    NothingToReport when no trial is finished, DamagedTrial when campaign.json cannot be read, SparkFailed
    when Spark does not run.  A report that was there stays until the new one is whole.
    """
    _must_have_trials(campaign)
    with reducing(master=master, say=say) as reduce:
        findings = found(campaign, reduce.brief)
    return write(findings if by is None else replace(findings, campaign=findings.campaign.by(by)))


def found(campaign: Path, reduce: Callable[[Sequence[Path]], Reduced]) -> Findings:
    """What came of a campaign, by what `reduce` gives of all its finished trials; NothingToReport of none."""
    _must_have_trials(campaign)
    finished = trials(campaign)
    reduced = reduce([trial.path for trial in finished])
    return gather(read_campaign(campaign), campaign, finished, reduced.rows, reduced.details)


def write(findings: Findings) -> Path:
    """Draw and write the report of `findings`; returns the path of report.html."""
    plots = draw(findings)
    found, pages = sources(findings), Pages()
    page = pages.fill("report.html.j2", view(findings, plots, found))
    with staged(findings.folder, names=WRITTEN) as folder:
        (folder / "trials").mkdir()
        failed = write_trials(folder / "trials", findings, found, pages)
        (folder / "plots").mkdir()
        for plot in plots.all:
            (folder / "plots" / f"{plot.name}.svg").write_bytes(plot.svg)
            (folder / "plots" / f"{plot.name}.png").write_bytes(plot.png)
        (folder / "tables").mkdir()
        write_tables(folder / "tables", findings)
        lacks = (*not_drawn(plots.sections), *not_analysed(findings), *failed)
        write_record(folder / SUMMARY, summarise(findings, failed=lacks))
        (folder / REPORT).write_text(page)
    return findings.folder / REPORT


def draw(findings: Findings) -> Plots:
    """All plots; those that cannot be drawn are named among the sections, with the reason."""
    failed: list[Section] = []

    def tried(title: str, plots: Callable[[Findings], T], nothing: T) -> T:
        found, why = attempted(partial(plots, findings), nothing)
        if why:
            failed.append(Section(title=title, plots=(), failed=why))
        return found

    found = Plots(
        answer=tried("The answer", answer_plot, None),
        journey=tried("Where the time goes", journey_plots, ()),
        sections=(),
        latency=tried("Distribution of latency", latency_plots, {}),
        overtime=tried("Over time", overtime_plots, {}),
        bars=tried("Where the time goes, by cell", journey_bars, {}),
    )
    return replace(found, sections=(*drawn(findings, (plot.name for plot in found.all)), *failed))


def _must_have_trials(campaign: Path) -> None:
    if not campaign.is_dir():
        raise NothingToReport(f"{campaign}: there is no such campaign folder")
    if not trials(campaign):
        raise NothingToReport(f"{campaign}: no trial is finished; `lab resume {campaign}` runs what is left")
