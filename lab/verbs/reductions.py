"""`lab reductions`: what is kept of trials for reports."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import Results
from lab.verbs.dispatch import done_by


@done_by("lab.reductions")
def reductions(
    campaign: Annotated[
        str | None, typer.Argument(help="Folder, name or URI of a campaign; default: all in RESULTS.")
    ] = None,
    results: Results = DEFAULT_RESULTS,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove those that a report would not use, and what killed commands left.")
    ] = False,
) -> None:
    """List the reductions that are kept of trials: a report reduces only what is new or has changed.

    One whose trial has lost captures is kept whatever code made it; those of packs stay in their trials' folders.
    """
