"""Running a campaign under somebody's eyes, and ending in a report."""

from __future__ import annotations

from pathlib import Path

from experiments import campaign as campaigns
from experiments import runner
from experiments.runner import GaveUp, Outcome
from experiments.scenario import Scenario
from lab.common import Status, err, out, shown
from lab.progress import watching
from results.campaign import read_campaign
from results.store import DamagedTrial, trials
from results.verdict import State


def preflight(scenario: Scenario) -> None:
    """NotPossible when this machine cannot run the scenario, before a folder is made for it."""
    runner.check([(cell.settings, cell.profile) for cell in scenario.cells])


def execute(folder: Path, *, build_report: bool) -> Status:
    """Run what is missing, build the report, return the exit status."""
    campaign = read_campaign(folder)
    todo = campaigns.missing(folder, campaign)
    out.print(f"{len(campaign.cells)} cells, {len(campaign.order)} trials, {len(todo)} to run")
    gave_up = None
    try:
        with watching(campaign, todo) as watcher:
            outcomes = runner.run(folder, watcher)
    except KeyboardInterrupt:
        err.print(f"\ninterrupted; nothing is left running. Go on with: lab resume {shown(folder)}", style="yellow")
        return Status.INTERRUPTED
    except GaveUp as error:
        outcomes, gave_up = [], error
    status = _status(folder, outcomes, failed=gave_up is not None)
    if build_report and trials(folder):
        status = max(status, build(folder), key=_severity)
    if gave_up is not None:
        err.print(f"{gave_up}\nonce that is cured, go on with: lab resume {shown(folder)}", style="red", markup=False)
    return status


def build(folder: Path, *, master: str | None = None) -> Status:
    """Build a campaign's report and say where it is."""
    from analysis import report  # noqa: PLC0415 - Spark and matplotlib import slowly; only this verb needs them

    try:
        built = report.build(folder, master=master)
    except report.NothingToReport as error:
        err.print(str(error), style="red", markup=False)
        return Status.FAILED
    out.print(f"report: {shown(built.path)}")
    return _status(folder, [], failed=False)


def _severity(status: Status) -> int:
    return [Status.ALL_VALID, Status.NOT_ALL_VALID, Status.FAILED].index(status)


def _status(folder: Path, outcomes: list[Outcome], *, failed: bool) -> Status:
    if failed or any(outcome.state == "failed" for outcome in outcomes):
        return Status.FAILED
    for trial in trials(folder):
        try:
            if trial.verdict().state is not State.VALID:
                return Status.NOT_ALL_VALID
        except DamagedTrial:
            return Status.NOT_ALL_VALID
    return Status.ALL_VALID
