"""`lab run`: one scenario, from the first trial to the report."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import typer

from analysis.extent import extent_of
from experiments.campaign import campaign as campaigns
from experiments.campaign.prepare import place_of
from experiments.scenario import overlay
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import Scenario, ScenarioError
from experiments.workers.kernels import Kernels, NotPossible
from lab import execution
from lab.beforehand import Care, kernels, look_at_room, without_module
from lab.closing import reporting
from lab.common import out, shown, told
from lab.start import tidy
from lab.within import budget, resuming
from records.workload import Command
from records.yaml_lines import Key


def run(
    *,
    scenario: Path,
    results: Path,
    kernel: str,
    medium: str,
    only: list[str] | None,
    new: bool,
    report: bool,
    pages: str,
    mix: bool,
    low_disk: bool,
    duration: str | None,
) -> None:
    """Run the scenario, or what is left of it, and build the report."""
    with told():
        chosen, limit, extent = kernels(kernel, medium), budget(duration), extent_of(pages)
        tidy(results)
        loaded = scenarios.only(scenarios.load(scenario), only or [])
        folder, care = begun(loaded, results, chosen, new=new, care=Care(mix=mix, room=low_disk))
        again = resuming(folder, kernel=kernel, medium=medium, report=report, extent=extent, duration=duration)
        closing = reporting(extent=extent) if report else None
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
    return folder, replace(care, looked=True)


def _check_names(scenario: Scenario) -> None:
    """ScenarioError when programs print a metric that has the name of one of ours: both would be one column."""
    works = [cell.settings.workload for cell in scenario.cells]
    names = dict.fromkeys(name for work in works if isinstance(work, Command) for name in work.metrics)
    if not names:
        return
    from analysis.metrics import METRICS  # noqa: PLC0415 - slow to import, and only this needs it

    if taken := [name for name in names if name in METRICS]:
        where = _where(scenario, ("workload", "metrics", taken[0]))
        raise ScenarioError(
            f"{where}: workload.metrics.{taken[0]}: Airwire measures {taken[0]} itself "
            f"({METRICS[taken[0]].about}): choose another name, such as program_{taken[0]}"
        )


def _check_patterns(scenario: Scenario) -> None:
    """ScenarioError when nothing sends and receives what a cell asks for."""
    if why := without_module(cell.settings for cell in scenario.cells):
        raise ScenarioError(f"{_where(scenario, ('workload', 'pattern'))}: workload.pattern: {why}")


def _where(scenario: Scenario, key: Key) -> str:
    """The file and line that say something; the scenario's file alone where a case, say, does."""
    with suppress(overlay.OverlayError):  # a pipe can be read once
        if place := overlay.read(scenario.path).places.get(key):
            return f"{place[0]}:{place[1]}"
    return str(scenario.path)


def _check(scenario: Scenario, chosen: Kernels) -> None:
    """NotPossible when a cell's link cannot be had here, with the way to run the others."""
    possible: set[str] = set()  # networks
    not_here: set[str] = set()
    problems: dict[str, None] = {}
    _check_names(scenario)
    _check_patterns(scenario)
    for cell in scenario.cells:
        try:
            place_of(cell.settings, cell.profile, cell.links, chosen)
            possible.add(cell.levels.get("network", ""))
        except NotPossible as error:
            problems[str(error)] = None
            not_here.add(cell.levels.get("network", ""))
    if not problems:
        return
    runs = possible - not_here
    others = " ".join(f"--only network={name}" for name in scenario.factors.get("network", ()) if name in runs)
    hint = f"\nthe other cells can be run: {others}" if others else ""
    raise NotPossible("\n".join(problems) + hint)
