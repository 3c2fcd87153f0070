"""`lab replay`: one trial again, under the same fates of its packets."""

from __future__ import annotations

from pathlib import Path

import typer

from analysis.extent import extent_of
from experiments.campaign import replay as replays
from experiments.campaign.campaign import CampaignError
from lab import execution
from lab.beforehand import Care, kernels
from lab.closing import reporting
from lab.common import out, shown, told
from lab.start import tidy
from lab.within import resuming
from records.store import Trial


def replay(
    *, trial: Path, stack: str | None, results: Path, kernel: str, medium: str, report: bool, pages: str
) -> None:
    """Run the trial again and build its report."""
    with told():
        chosen, extent = kernels(kernel, medium), extent_of(pages)
        tidy(results)
        if not (trial / "manifest.json").is_file():
            raise CampaignError(f"{trial}: not the folder of a finished trial (it has no manifest.json)")
        folder = replays.create(Trial(trial.resolve()), results, stack=stack, kernels=chosen)
        out.print(f"campaign {shown(folder)}")
        again, closing = (
            resuming(folder, kernel=kernel, medium=medium, report=report, extent=extent),
            reporting(extent=extent) if report else None,
        )
        raise typer.Exit(execution.execute(folder, chosen, again=again, closing=closing, care=Care(looked=True)))
