"""`lab replay`: one trial again, under the same losses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments import replay as replays
from experiments.campaign import CampaignError
from lab import execution
from lab.beforehand import Care
from lab.common import DEFAULT_RESULTS, Kernel, Medium, Results, kernels, out, shown, tidy, told
from lab.within import resuming
from results.store import Trial


def replay(
    trial: Annotated[Path, typer.Argument(help="A trial's folder, .../<cell>/trial-001.")],
    stack: Annotated[str | None, typer.Option(help="Run this stack under the same losses instead.")] = None,
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    medium: Medium = "auto",
    report: Annotated[bool, typer.Option(help="Build the report at the end.")] = True,
) -> None:
    """Run TRIAL again as a campaign of its own: the same packets are lost, under the same load, or another stack."""
    with told():
        chosen = kernels(kernel, medium)
        tidy(results)
        if not (trial / "manifest.json").is_file():
            raise CampaignError(f"{trial}: not the folder of a finished trial (it has no manifest.json)")
        folder = replays.create(Trial(trial.resolve()), results, stack=stack, kernels=chosen)
        out.print(f"campaign {shown(folder)}")
        again, closing = (
            resuming(folder, kernel=kernel, medium=medium, report=report),
            execution.reporting() if report else None,
        )
        raise typer.Exit(execution.execute(folder, chosen, again=again, closing=closing, care=Care(room=True)))
