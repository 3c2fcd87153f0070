"""`lab resume`: go on with a campaign."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from experiments import campaign as campaigns
from experiments import retrying
from experiments.campaign import CampaignError
from lab import execution
from lab.beforehand import Care, LowDisk, Mix
from lab.common import DEFAULT_RESULTS, Kernel, Medium, Results, Status, fail, find, kernels, out, shown, tidy, told
from lab.within import For, budget, resuming
from results.campaign import read_campaign
from results.store import DamagedTrial


def resume(
    campaign: Annotated[str | None, typer.Argument(help="Folder or name; default: the latest unfinished one.")] = None,
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    medium: Medium = "auto",
    report: Annotated[bool, typer.Option(help="Build the report at the end.")] = True,
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
    with told():
        if retry not in (None, "invalid"):
            fail(f"--retry: {retry!r} is not invalid, the only kind of finished trials that is run again", Status.USAGE)
        chosen, limit = kernels(kernel, medium), budget(duration)
        tidy(results)
        folder = find(results, campaign) if campaign else _latest(results, retry=retry is not None)
        out.print(f"taking up {shown(folder)}")
        again = resuming(folder, kernel=kernel, medium=medium, report=report, duration=duration)
        closing = execution.reporting() if report else None
        care = Care(mix=mix, room=low_disk)
        status = execution.execute(
            folder, chosen, again=again, closing=closing, budget=limit, care=care, retry=retry is not None
        )
        raise typer.Exit(status)


def _latest(results: Path, *, retry: bool) -> Path:
    """The newest campaign that has something to run, invalid trials included where they are to be run again."""
    for folder in reversed(campaigns.folders(results)) if retry else ():
        with suppress(DamagedTrial):
            campaign = read_campaign(folder)
            if campaigns.missing(folder, campaign) or retrying.invalid(folder, campaign):
                return folder
    found = campaigns.latest_unfinished(results)
    if found is None:
        what = "campaign that is unfinished or has an invalid trial" if retry else "unfinished campaign"
        raise CampaignError(f"{results}: no {what}; `lab list` shows those there are")
    return found
