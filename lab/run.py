"""`lab run`: one scenario, from the first trial to the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from experiments import campaign as campaigns
from experiments import scenario as scenarios
from experiments.kernels import Kernels, NotPossible
from experiments.prepare import place_of
from experiments.scenario import Scenario
from lab import execution
from lab.beforehand import Care, LowDisk, Mix, look_at_room
from lab.common import DEFAULT_RESULTS, Kernel, Medium, Results, kernels, out, shown, tidy, told
from lab.within import For, budget, resuming


def run(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (YAML), e.g. experiments/wireless-vs-wireline.yaml.")],
    results: Results = DEFAULT_RESULTS,
    kernel: Kernel = "auto",
    medium: Medium = "auto",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="FACTOR=LEVEL", help="Only cells with this level.")
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Start afresh even if this scenario was interrupted.")] = False,
    report: Annotated[bool, typer.Option(help="Build the report at the end.")] = True,
    mix: Mix = False,
    low_disk: LowDisk = False,
    duration: For = None,
) -> None:
    """Run SCENARIO: every combination of its levels, as often as it says, and build the report.

    An interrupted campaign of the same, unchanged scenario is taken up where it stopped; finished trials are
    never run again.  A changed scenario is a new campaign.
    """
    with told():
        chosen, limit = kernels(kernel, medium), budget(duration)
        tidy(results)
        loaded = scenarios.only(scenarios.load(scenario), only or [])
        folder, care = begun(loaded, results, chosen, new=new, care=Care(mix=mix, room=low_disk))
        again = resuming(folder, kernel=kernel, medium=medium, report=report, duration=duration)
        closing = execution.reporting() if report else None
        raise typer.Exit(execution.execute(folder, chosen, again=again, closing=closing, budget=limit, care=care))


def begun(loaded: Scenario, results: Path, chosen: Kernels, *, new: bool, care: Care) -> tuple[Path, Care]:
    """The scenario's unfinished campaign, or a new one that the disk has room for; says which.

    Returns it with what has still to be looked at.
    """
    folder = None if new else campaigns.latest_unfinished(results, loaded.digest)
    if folder is not None:
        out.print(f"taking up {shown(folder)} (--new starts afresh)")
        return folder, care
    _check(loaded, chosen)
    if not care.room:
        look_at_room(loaded, results)
    folder = campaigns.create(loaded, results)
    out.print(f"campaign {shown(folder)}")
    return folder, replace(care, room=True)


def _check(scenario: Scenario, chosen: Kernels) -> None:
    """NotPossible when a cell's link cannot be had here, with the way to run the others."""
    possible: set[str] = set()
    problems: dict[str, str] = {}
    for cell in scenario.cells:
        try:
            place_of(cell.settings, cell.profile, chosen)
            possible.add(cell.settings.network)
        except NotPossible as error:
            problems[str(error)] = cell.settings.network
    if not problems:
        return
    runs = possible - set(problems.values())
    others = " ".join(f"--only network={name}" for name in scenario.factors.get("network", ()) if name in runs)
    hint = f"\nthe other cells can be run: {others}" if others else ""
    raise NotPossible("\n".join(problems) + hint)
