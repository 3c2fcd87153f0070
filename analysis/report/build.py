"""Building the report of a campaign from its folder alone."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from analysis.details import Reduced
from analysis.extent import Extent
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
from analysis.report.trialpages import remove_pages, write_trials
from analysis.report.view import Plots, view
from analysis.spark.target import Say, Where
from records.campaign import read_campaign
from records.store import trials, write_record

REPORT = "report.html"
TRIALS = "trials"
WRITTEN = ("plots", "tables", TRIALS, REPORT)  # the last when all others are there
T = TypeVar("T")


class NothingToReport(Exception):
    """The campaign has no finished trial; the message names its folder."""


def build(
    campaign: Path, *, master: Where = None, by: str | None = None, extent: Extent = Extent.ALL, say: Say = silent
) -> Path:
    """Write report.html, trials/, plots/ and tables/ into the campaign's folder; returns the path of report.html.

    master: the Spark master (None = this machine, or the server that SPARK_REMOTE names).  by: the factor whose levels
    are compared (None = the one that the campaign names).  extent: which pages and details are made; pages of an
    earlier report that are none of these are removed.  say: takes a line about reductions made again.  Raises
    NothingToReport when no trial is finished, DamagedTrial when campaign.json cannot be read, SparkFailed
    when Spark does not run.  A report that was there stays until the new one is whole.
    """
    _must_have_trials(campaign)
    with reducing(master=master, say=say) as reduce:
        findings = found(campaign, reduce.brief)
    findings = findings if by is None else replace(findings, campaign=findings.campaign.by(by))
    return write(findings, extent=extent, again=command(findings.folder.name, by=by))


def found(campaign: Path, reduce: Callable[[Sequence[Path]], Reduced]) -> Findings:
    """What came of a campaign, by what `reduce` gives of all its finished trials; NothingToReport of none."""
    _must_have_trials(campaign)
    finished = trials(campaign)
    reduced = reduce([trial.path for trial in finished])
    return gather(read_campaign(campaign), campaign, finished, reduced.rows, reduced.details)


def write(
    findings: Findings, *, extent: Extent = Extent.ALL, again: str | None = None, last: Path | None = None
) -> Path:
    """Draw and write the report of `findings`; returns the path of report.html.

    extent: as of build.  again: the command that makes it, for the page to say, None = that of a campaign of this name.
    last: the folder of its last report, of which pages are kept, None = the campaign's own.
    """
    earlier = (last or findings.folder) / TRIALS
    plots = draw(findings, extent)
    found, pages = sources(findings), Pages(extra="why.css")
    shown = view(findings, plots, found, extent=extent, again=again or command(findings.folder.name))
    page = pages.fill("report.html.j2", shown)
    with placed(findings.folder, extent) as folder:
        failed: tuple[str, ...] = ()
        if extent is Extent.ALL:
            (folder / TRIALS).mkdir()
            failed = write_trials(folder / TRIALS, findings, found, pages, earlier=earlier)
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


def command(campaign: str, *, by: str | None = None, out: Path | None = None) -> str:
    """What makes a campaign's report, as it is typed."""
    options = (*(("--by", by) if by else ()), *(("--out", str(out)) if out else ()))
    return shlex.join(("lab", "report", campaign, *options))


def written(extent: Extent) -> tuple[str, ...]:
    """What a report of that extent consists of."""
    return tuple(name for name in WRITTEN if name != TRIALS or extent is Extent.ALL)


def placed(folder: Path, extent: Extent) -> AbstractContextManager[Path]:
    """As analysis.report.publish.staged: a folder to write into; pages that are not asked for any more are removed."""
    stale = None if extent is Extent.ALL else partial(remove_pages, folder / TRIALS)
    return staged(folder, names=written(extent), then=stale)


def draw(findings: Findings, extent: Extent = Extent.ALL) -> Plots:
    """All plots of that extent; those that cannot be drawn are named among the sections, with the reason."""
    failed: list[Section] = []

    def tried(title: str, plots: Callable[[Findings], T], nothing: T) -> T:
        found, why = attempted(partial(plots, findings), nothing)
        if why:
            failed.append(Section(title=title, plots=(), failed=why))
        return found

    detailed = extent is not Extent.NONE
    found = Plots(
        answer=tried("The answer", answer_plot, None),
        journey=tried("Where the time goes", journey_plots, ()),
        sections=(),
        latency=tried("Distribution of latency", latency_plots, {}),
        overtime=tried("Over time", overtime_plots, {}) if detailed else {},
        bars=tried("Where the time goes, by cell", journey_bars, {}) if detailed else {},
    )
    return replace(found, sections=(*drawn(findings, found.all), *failed))


def _must_have_trials(campaign: Path) -> None:
    if not campaign.is_dir():
        raise NothingToReport(f"{campaign}: there is no such campaign folder")
    if not trials(campaign):
        raise NothingToReport(f"{campaign}: no trial is finished; `lab resume {campaign}` runs what is left")
