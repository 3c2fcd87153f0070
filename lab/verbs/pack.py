"""`lab pack`: a campaign as one small file."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS
from lab.options import Results
from lab.verbs.dispatch import done_by


@done_by("lab.pack")
def pack(
    campaign: Annotated[str | None, typer.Argument(help="Folder or name of a campaign; default: the latest.")] = None,
    to: Annotated[
        str,
        typer.Option("--out", metavar="FILE", help="File or folder to write to, or its URI: a folder's ends with `/`."),
    ] = ".",
    ledgers: Annotated[bool, typer.Option("--ledgers", help="Take the ledgers along: every message.")] = False,
    results: Results = DEFAULT_RESULTS,
) -> None:
    """Write CAMPAIGN as one small file: records, reduced tables and latency histograms of every trial, no captures.

    `lab unpack` puts it back, here or on another machine, where reports, comparisons and `lab resume` go on from it.
    """
