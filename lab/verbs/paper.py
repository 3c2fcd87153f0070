"""`lab paper`: rerun a published study, and hold what it says against what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import ALL_PAGES, For, Kernel, LowDisk, Medium, Mix, Pages, Results
from lab.verbs.dispatch import done_by


@done_by("lab.paper")
def paper(
    name: Annotated[str | None, typer.Argument(help="Name of the study, e.g. gaddah-kunz.")] = None,
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    medium: Medium = "auto",
    number: Annotated[int | None, typer.Option("--set", help="Only this set of experiments.")] = None,
    tests: Annotated[str, typer.Option(metavar="1,3,5", help="Only these rows of the published tables.")] = "",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="FACTOR=LEVEL", help="Only cells with this level.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One trial of each cell in short windows, for a first look.")
    ] = False,
    new: Annotated[bool, typer.Option("--new", help="Start afresh even if this was interrupted.")] = False,
    campaign: Annotated[
        list[str] | None, typer.Option(help="Run nothing: judge these campaigns (folders, names or URIs).")
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(metavar="NETWORK=PROFILE", help="With --campaign: on which link to judge."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Write the page there, not to RESULTS/papers/NAME.")
    ] = None,
    pages: Pages = ALL_PAGES,
    mix: Mix = False,
    low_disk: LowDisk = False,
    duration: For = None,
) -> None:
    """Run the cases of study NAME, and write a page: rows, figures and claims, published against measured.

    Without a name: list the studies.  An interrupted run is taken up where it stopped.  With --campaign, --only chooses
    among their cells.
    """
