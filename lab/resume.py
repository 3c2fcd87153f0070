"""`lab resume`: go on with a campaign."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments import campaign as campaigns
from experiments.campaign import CampaignError
from lab import execution
from lab.common import DEFAULT_RESULTS, Kernel, Results, find, kernels, out, shown, tidy, told
from lab.within import For, budget, resuming


def resume(
    campaign: Annotated[str | None, typer.Argument(help="Folder or name; default: the latest unfinished one.")] = None,
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    report: Annotated[bool, typer.Option(help="Build the report at the end.")] = True,
    duration: For = None,
) -> None:
    """Run the trials that CAMPAIGN still lacks (interrupted or failed ones), then build its report."""
    with told():
        chosen, limit = kernels(kernel), budget(duration)
        tidy(results)
        folder = find(results, campaign) if campaign else campaigns.latest_unfinished(results)
        if folder is None:
            raise CampaignError(f"{results}: no unfinished campaign; `lab list` shows those there are")
        out.print(f"taking up {shown(folder)}")
        again = resuming(folder, kernel=kernel, report=report, duration=duration)
        closing = execution.reporting() if report else None
        raise typer.Exit(execution.execute(folder, chosen, again=again, closing=closing, budget=limit))
