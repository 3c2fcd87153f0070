"""`lab paper`: rerun a published study, and hold what it says against what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments import papers
from lab import execution
from lab.common import DEFAULT_RESULTS, Kernel, Results, Status, err, find, kernels, out, shown, tidy, told
from lab.run import begun

_SEVERITY = [Status.ALL_VALID, Status.NOT_ALL_VALID, Status.FAILED, Status.INTERRUPTED]


def paper(
    name: Annotated[str, typer.Argument(help="Name of the study, e.g. gaddah-kunz.")],
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    number: Annotated[int | None, typer.Option("--set", help="Only this set of experiments.")] = None,
    tests: Annotated[str, typer.Option(metavar="1,3,5", help="Only these rows of the published tables.")] = "",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="FACTOR=LEVEL", help="Only cells with this level.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One trial, short windows: an hour instead of a day.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Start afresh even if this was interrupted.")] = False,
    campaign: Annotated[
        list[str] | None, typer.Option(help="Run nothing: judge these campaigns (folders or names).")
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Write the page there, not to RESULTS/papers/NAME.")
    ] = None,
) -> None:
    """Run the cases of study NAME, and write a page: rows, figures and claims, published against measured.

    An interrupted run is taken up where it stopped.
    """
    with told():
        folder = papers.folder_of(name)
        status, campaigns = Status.ALL_VALID, [find(results, one) for one in campaign or ()]
        tidy(results)
        if not campaigns:
            chosen = kernels(kernel)
            scenario = papers.chosen(folder, number=number, tests=_numbers(tests), only=only or (), quick=quick)
            campaigns = [begun(scenario, results, chosen, new=new)]
            status = execution.execute(campaigns[0], chosen, build_report=True)
            if status is Status.INTERRUPTED:
                raise typer.Exit(status)
        page = to or results / "papers" / name
        raise typer.Exit(max(status, _judged(folder, campaigns, page), key=_SEVERITY.index))


def _numbers(text: str) -> tuple[int, ...]:
    words = text.replace(",", " ").split()
    if wrong := [word for word in words if not word.isdecimal()]:
        raise papers.UnknownPaper(f"--tests: {wrong[0]!r} is no number of a row; as in --tests 1,3,5")
    return tuple(dict.fromkeys(map(int, words)))


def _judged(folder: Path, campaigns: list[Path], to: Path) -> Status:
    """Hold the campaigns against the study, write the page and say what came of it."""
    from analysis.papers import PaperError, hold, read_paper, write  # noqa: PLC0415 - matplotlib and Spark import slowly
    from analysis.papers.view import bound_text, leaning_text, verdict_text  # noqa: PLC0415
    from analysis.report.build import NothingToReport  # noqa: PLC0415
    from analysis.report.build import find as reduced  # noqa: PLC0415
    from analysis.report.publish import ReportBusy  # noqa: PLC0415
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415
    from analysis.spark.session import session  # noqa: PLC0415

    try:
        study = read_paper(folder)
        with session() as spark:
            result = hold(study, [reduced(one, spark) for one in campaigns])
        page = write(result, to)
    except (PaperError, NothingToReport, ReportBusy, SparkFailed) as error:
        err.print(str(error), style="red", markup=False)
        return Status.FAILED
    for claim in result.claims:
        if claim.ours.looked_at:
            told, leaning = claim.ours.claim, leaning_text(claim)
            aside = f" ({leaning})" if leaning else ""
            out.print(f"{claim.ours.verdict.value:>14}  {told.section:>8}  {told.finding}{aside}", markup=False)
    for line in (verdict_text(result), bound_text(result)):
        out.print(line, markup=False)
    out.print(f"page: {shown(page)}")
    return Status.ALL_VALID
