"""`lab run`: one scenario, from the first trial to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments import campaign as campaigns
from experiments import scenario as scenarios
from lab import execution
from lab.common import DEFAULT_RESULTS, Kernel, Results, kernels, out, shown, tidy, told


def run(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (YAML), e.g. experiments/wireless-vs-wireline.yaml.")],
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    new: Annotated[bool, typer.Option("--new", help="Start afresh even if this scenario was interrupted.")] = False,
    report: Annotated[bool, typer.Option(help="Build the report at the end.")] = True,
) -> None:
    """Run SCENARIO: every combination of its levels, as often as it says, and build the report.

    An interrupted campaign of the same, unchanged scenario is taken up where it stopped; finished trials are
    never run again.  A changed scenario is a new campaign.
    """
    with told():
        chosen = kernels(kernel)
        tidy(results)
        loaded = scenarios.load(scenario)
        folder = None if new else campaigns.latest_unfinished(results, loaded.digest)
        if folder is not None:
            out.print(f"taking up {shown(folder)} (--new starts afresh)")
        else:
            chosen.check(cell.profile for cell in loaded.cells)
            folder = campaigns.create(loaded, results)
            out.print(f"campaign {shown(folder)}")
        raise typer.Exit(execution.execute(folder, chosen, build_report=report))
