"""`lab replay`: one trial again, under the same fates of its packets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import ALL_PAGES, Kernel, Medium, Pages, Results
from lab.verbs.dispatch import done_by


@done_by("lab.replay")
def replay(
    trial: Annotated[Path, typer.Argument(help="A trial's folder, .../<cell>/trial-001.")],
    stack: Annotated[str | None, typer.Option(help="Run this stack under the same link instead.")] = None,
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    medium: Medium = "auto",
    report: Annotated[bool, typer.Option(help="Build the report at the end.")] = True,
    pages: Pages = ALL_PAGES,
) -> None:
    """Run TRIAL again as a campaign of its own, or another stack under its load: the same packets are lost, and by the
    line delayed, copied and damaged the same.
    """
