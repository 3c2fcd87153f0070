"""`lab report`: build a report again, from what stands under results/."""

from __future__ import annotations

from typing import Annotated

import typer

from lab import execution
from lab.common import DEFAULT_RESULTS, Results, find, tidy, told


def report(
    campaign: Annotated[str | None, typer.Argument(help="Folder or name of a campaign; default: the latest.")] = None,
    results: Results = DEFAULT_RESULTS,
    master: Annotated[str | None, typer.Option(help="Spark master; default: local, in this process.")] = None,
) -> None:
    """Build CAMPAIGN's report from its trial folders alone; the machine need not be the one that ran it."""
    with told():
        tidy(results)
        folder = find(results, campaign)
        # How long it takes elsewhere is no news for the next report built here.
        raise typer.Exit(execution.build(folder, master=master) if master else execution.reporting().run(folder))
