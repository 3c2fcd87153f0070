"""`lab run`: one scenario, from the first trial to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import ALL_PAGES, For, Kernel, LowDisk, Medium, Mix, Pages, Results
from lab.verbs.dispatch import done_by


@done_by("lab.run")
def run(
    scenario: Annotated[
        Path, typer.Argument(help="Scenario file (YAML), e.g. experiments/scenarios/wireless-vs-wireline.yaml.")
    ],
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    medium: Medium = "auto",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="FACTOR=LEVEL", help="Only cells with this level.")
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Start afresh even if this scenario was interrupted.")] = False,
    report: Annotated[bool, typer.Option(help="Build the report at the end.")] = True,
    pages: Pages = ALL_PAGES,
    mix: Mix = False,
    low_disk: LowDisk = False,
    duration: For = None,
) -> None:
    """Run SCENARIO: every combination of its levels, as often as it says, and build the report.

    An interrupted campaign of the same, unchanged scenario is taken up where it stopped; finished trials are
    never run again.  A changed scenario is a new campaign.
    """
