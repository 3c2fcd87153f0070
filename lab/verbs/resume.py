"""`lab resume`: go on with a campaign."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import ALL_PAGES, For, Kernel, LowDisk, Medium, Mix, Pages, Results
from lab.verbs.dispatch import done_by


@done_by("lab.resume")
def resume(
    campaign: Annotated[str | None, typer.Argument(help="Folder or name; default: the latest unfinished one.")] = None,
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    medium: Medium = "auto",
    report: Annotated[bool, typer.Option(help="Build the report at the end.")] = True,
    pages: Pages = ALL_PAGES,
    retry: Annotated[
        str | None,
        typer.Option(metavar="invalid", help="Run invalid trials again, too, whatever made them so; they are kept."),
    ] = None,
    mix: Mix = False,
    low_disk: LowDisk = False,
    duration: For = None,
) -> None:
    """Run the trials that CAMPAIGN still lacks (interrupted or failed ones), then build its report.

    What is left must run as the finished trials did: same code, kernel, servers and kind of processor, else --mix.
    (Cells that the link decides may go on on another machine.)
    """
