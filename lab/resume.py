"""`lab resume`: go on with a campaign."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import typer

from analysis.extent import extent_of
from experiments.campaign import campaign as campaigns
from experiments.campaign import rerun_invalid
from experiments.campaign.campaign import CampaignError
from lab import execution
from lab.beforehand import Care, kernels
from lab.closing import reporting
from lab.common import Status, fail, out, shown, told
from lab.start import find, tidy
from lab.within import budget, resuming
from records.campaign import read_campaign
from records.publishing import is_whole
from records.store import FOREIGN, DamagedTrial


def resume(
    *,
    campaign: str | None,
    results: Path,
    kernel: str,
    medium: str,
    report: bool,
    pages: str,
    retry: str | None,
    mix: bool,
    low_disk: bool,
    duration: str | None,
) -> None:
    """Run what the campaign lacks and build its report."""
    with told():
        if retry not in (None, "invalid"):
            fail(f"--retry: {retry!r} is not invalid, the only kind of finished trials that is run again", Status.USAGE)
        chosen, limit, extent = kernels(kernel, medium), budget(duration), extent_of(pages)
        tidy(results)
        folder = find(results, campaign) if campaign else _latest(results, retry=retry is not None)
        out.print(f"taking up {shown(folder)}")
        again = resuming(folder, kernel=kernel, medium=medium, report=report, extent=extent, duration=duration)
        closing = reporting(extent=extent) if report else None
        care = Care(mix=mix, room=low_disk)
        status = execution.execute(
            folder, chosen, again=again, closing=closing, budget=limit, care=care, retry=retry is not None
        )
        raise typer.Exit(status)


def _latest(results: Path, *, retry: bool) -> Path:
    """The newest campaign that has something to run, invalid trials included where they are to be run again."""
    ours = [one for one in campaigns.folders(results) if not (one / FOREIGN).exists() and is_whole(one)]
    for folder in reversed(ours) if retry else ():
        with suppress(DamagedTrial):
            campaign = read_campaign(folder)
            if campaigns.missing(folder, campaign) or rerun_invalid.invalid(folder, campaign):
                return folder
    found = campaigns.latest_unfinished(results)
    if found is None:
        what = "campaign that is unfinished or has an invalid trial" if retry else "unfinished campaign"
        raise CampaignError(f"{results}: no {what}; `lab list` shows those there are")
    return found
