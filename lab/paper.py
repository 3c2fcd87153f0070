"""`lab paper`: rerun a published study, and hold what it says against what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from analysis.extent import Extent, extent_of
from analysis.names import plain
from experiments import papers
from lab import execution
from lab.beforehand import Care, kernels
from lab.closing import Closing, reported_by, tell
from lab.common import Status, err, gravest, out, shown, told
from lab.computed import computed
from lab.copies import Copies, copying
from lab.run import begun
from lab.start import find, tidy
from lab.within import Command, budget, options
from records.campaign import read_campaign
from records.location import Remote, locate

if TYPE_CHECKING:
    from analysis.findings import Findings
    from analysis.papers import Paper

# CPU-seconds of the study's page: 1.8 for all 50 cases on both networks with one trial each, more with more trials.
_PAGE_S = 5.0


def paper(
    *,
    name: str | None,
    results: Path,
    kernel: str,
    medium: str,
    number: int | None,
    tests: str,
    only: list[str] | None,
    quick: bool,
    new: bool,
    campaign: list[str] | None,
    link: list[str] | None,
    to: Path | None,
    pages: str,
    mix: bool,
    low_disk: bool,
    duration: str | None,
) -> None:
    """Run the study, or judge campaigns by it, and write its page; without a name, list the studies."""
    with told(), copying() as copies:
        extent = extent_of(pages)
        if name is None:
            if any((number is not None, tests, only, quick, new, campaign, link, to, extent.words, duration)):
                raise papers.UnknownPaper(f"of which study? there are {', '.join(papers.studies())}")
            raise typer.Exit(_listed())
        name, folder, links = name.replace("_", "-"), papers.folder_of(name), _links(link)
        if links and not campaign:
            raise papers.UnknownPaper("--link: a study runs on its own links; campaigns on others go with --campaign")
        if campaign and (number is not None or tests or quick or new or duration):
            raise papers.UnknownPaper(
                "--set, --tests, --quick, --new and --for say what to run; --campaign runs nothing"
            )
        if campaign and extent is not Extent.ALL:
            raise papers.UnknownPaper("--pages: is for the reports of what is run; --campaign makes no report")
        campaigns, limit = [_campaign(results, one, copies) for one in campaign or ()], budget(duration)
        levels = _levels(only) if campaigns else {}
        study = _study(folder, links, campaigns, levels)
        page = to or results / "papers" / _page_folder(name, study, levels)
        asked = Asked(folder=folder, study=study, to=page, levels=levels, reports=None if campaigns else extent)
        tidy(results)
        if campaigns:
            raise typer.Exit(_reported(asked, campaigns, copies))
        chosen = kernels(kernel, medium)
        choice = Choice(number=number, tests=_numbers(tests), only=tuple(only or ()), quick=quick)
        whole = papers.whole(folder)
        missing = papers.unrun(folder, whole, networks=study.networks, published=study.cases)
        scenario = papers.chosen(whole, number=number, tests=choice.tests, only=choice.only, quick=quick)
        if missing:
            err.print(f"published, but no case of {papers.MATRIX}: {', '.join(missing)}")
        where = (*options(results=results), *(("--out", shown(to)) if to else ()))
        again = Command(
            words=("paper", name, *choice.words(), *options(kernel=kernel, medium=medium), *extent.words, *where),
            duration=duration,
        )
        closing = Closing(
            build=lambda one: _reported(asked, [one], copies),
            later=lambda one: (
                reported_by(one, extent),
                Command(words=("paper", name, "--campaign", shown(one), *where)).text(),
            ),
            study_s=_PAGE_S,
        )
        ours, care = begun(scenario, results, chosen, new=new, care=Care(mix=mix, room=low_disk))
        raise typer.Exit(execution.execute(ours, chosen, again=again, closing=closing, budget=limit, care=care))


def _listed() -> Status:
    """The studies there are."""
    studies = papers.studies()
    width = max(map(len, studies), default=0)
    for name, folder in studies.items():
        out.print(f"{name:<{width}}  {papers.title(folder)}")
    return Status.ALL_VALID


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What of a study is run."""

    number: int | None
    tests: tuple[int, ...]
    only: tuple[str, ...]
    quick: bool

    def words(self) -> tuple[str, ...]:
        """As options of the command."""
        return (
            *(("--quick",) if self.quick else ()),
            *(("--set", str(self.number)) if self.number is not None else ()),
            *(("--tests", ",".join(map(str, self.tests))) if self.tests else ()),
            *(word for one in self.only for word in ("--only", one)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the page is to say, and where.  folder: the study's.  levels: of cells that count.

    reports: the extent of those of the campaigns, None where they get none.
    """

    folder: Path
    study: Paper
    to: Path
    levels: dict[str, list[str]]
    reports: Extent | None


def _campaign(results: Path, name: str, copies: Copies) -> Path:
    """The folder of a campaign, or a copy of the records of one at a URI."""
    place = locate(name)
    return copies.of(place) if isinstance(place, Remote) else find(results, str(place))


def _study(folder: Path, links: dict[str, str], campaigns: list[Path], levels: dict[str, list[str]]) -> Paper:
    """The study, on these links; UnknownPaper when it, or what is asked of campaigns, makes no sense."""
    from analysis.papers import PaperError, check, on_other_links, read_paper  # noqa: PLC0415 - it imports slowly

    try:
        study = on_other_links(read_paper(folder), links)
        if campaigns:
            check(study, [read_campaign(one) for one in campaigns], levels)
        return study
    except PaperError as error:
        raise papers.UnknownPaper(str(error)) from error


def _page_folder(name: str, study: Paper, levels: dict[str, list[str]]) -> str:
    """Its own for each question that can be asked of campaigns."""
    links = [f"on-{plain(profile)}" for profile in study.links.values()]
    return "-".join([name, *links, *(f"with-{plain(level)}" for some in levels.values() for level in some)])


def _links(words: list[str] | None) -> dict[str, str]:
    links: dict[str, str] = {}
    for network, profile in _pairs("--link", words):
        if links.setdefault(network, profile) != profile:
            raise papers.UnknownPaper(f"--link: {network} is {links[network]} already, it cannot be {profile} as well")
    return links


def _levels(words: list[str] | None) -> dict[str, list[str]]:
    levels: dict[str, list[str]] = {}
    for factor, level in _pairs("--only", words):
        levels.setdefault(factor, []).append(level)
    return levels


def _pairs(option: str, words: list[str] | None) -> Iterator[tuple[str, str]]:
    for word in words or ():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise papers.UnknownPaper(f"{option} {word}: two words with = between them are meant")
        yield name, value


def _numbers(text: str) -> tuple[int, ...]:
    words = text.replace(",", " ").split()
    if wrong := [word for word in words if not word.isdecimal()]:
        raise papers.UnknownPaper(f"--tests: {wrong[0]!r} is no number of a row; as in --tests 1,3,5")
    return tuple(dict.fromkeys(map(int, words)))


def _reported(asked: Asked, campaigns: list[Path], copies: Copies) -> Status:
    """Reduce the campaigns, once, for the study's page and for reports of their own.

    A report that cannot be written does not cost the page, nor the page the reports.
    """
    from analysis.report.build import NothingToReport  # noqa: PLC0415 - matplotlib and Spark import slowly
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415

    try:
        findings = copies.found(campaigns)
    except (NothingToReport, SparkFailed) as error:
        return _failed(error)
    reports = [] if asked.reports is None else [_report(found, asked.reports) for found in findings]
    return gravest(*reports, _judged(asked, findings))


def _report(found: Findings, extent: Extent) -> Status:
    from analysis.report.build import write  # noqa: PLC0415
    from analysis.report.publish import ReportBusy  # noqa: PLC0415

    try:
        return tell(found.folder, write(found, extent=extent))
    except ReportBusy as error:
        return _failed(error)


def _judged(asked: Asked, findings: list[Findings]) -> Status:
    """Hold campaigns against the study, write the page and say what came of it."""
    from analysis.papers import PaperError, hold  # noqa: PLC0415
    from analysis.papers.build import write  # noqa: PLC0415
    from analysis.papers.computed import ComputedError  # noqa: PLC0415
    from analysis.papers.view import bound_text, from_go_text, leaning_text, verdict_text  # noqa: PLC0415
    from analysis.report.publish import ReportBusy  # noqa: PLC0415

    try:
        result = hold(asked.study, findings, asked.levels, computed(asked.folder, asked.study.record))
        page = write(result, asked.to)
    except (ComputedError, PaperError, ReportBusy) as error:
        return _failed(error)
    for claim in result.claims:
        if claim.ours.looked_at:
            told, leaning = claim.ours.claim, leaning_text(claim)
            aside = f" ({leaning})" if leaning else ""
            out.print(f"{claim.ours.verdict.value:>14}  {told.section:>8}  {told.finding}{aside}")
    for line in filter(None, (verdict_text(result), from_go_text(result), bound_text(result))):
        out.print(line)
    out.print(f"page: {shown(page)}")
    return Status.ALL_VALID


def _failed(error: Exception) -> Status:
    err.print(str(error), style="red")
    return Status.FAILED
