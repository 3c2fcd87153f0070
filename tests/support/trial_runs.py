"""Whole trials in this process, so that tests can get between the steps."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

import warm
from lab_runs import scenario_file
from origin import origin
from service_ends import ending_with_us

from emulation.profile.media import MediumName
from experiments.campaign import campaign as campaigns
from experiments.campaign import retry, runner
from experiments.scenario import scenario as scenarios
from experiments.trial import trial as trials
from experiments.trial.context import Phase
from records.campaign import read_campaign
from records.store import Trial
from records.verdict import Verdict


def sent_and_handled(
    trial: Trial, begins_ns: int, ends_ns: int | None = None, *, consumers: Container[int] | None = None
) -> list[dict[str, Any]]:
    """Deliveries between two moments of what had been sent after the first: none where nothing gets through.

    A client handles later, when it gets a processor, what had come before.
    """
    sent_ns = {(row["producer"], row["seq"]): row["t_send_ns"] for row in trial.table("published").to_pylist()}
    return [
        row
        for row in trial.table("delivered").to_pylist()
        if (consumers is None or row["consumer"] in consumers)
        and begins_ns < row["t_recv_ns"]
        and (ends_ns is None or row["t_recv_ns"] < ends_ns)
        and sent_ns[row["producer"], row["seq"]] > begins_ns
    ]


def run(tmp_path: Path, *, made_by: MediumName = "tc", **settings: object) -> tuple[Trial, Verdict, list[Phase]]:
    """Run the first trial of the small scenario with these settings changed."""
    return run_file(scenario_file(tmp_path, **settings), tmp_path, made_by=made_by)


def run_file(path: Path, tmp_path: Path, *, made_by: MediumName = "tc") -> tuple[Trial, Verdict, list[Phase]]:
    """Run the first trial of a scenario; as in a campaign, again when the machine alone can have spoiled it."""
    scenario = scenarios.load(path)
    for _ in range(1 + scenario.settings.repeat_spoiled):
        folder = campaigns.create(scenario, tmp_path / "results")
        campaign = read_campaign(folder)
        spec = runner.spec(folder, campaign, campaign.cells[0], campaign.order[0], origin(), medium=made_by)
        phases: list[Phase] = []
        with ending_with_us(folder), warm.nurseries():
            trial, verdict = trials.run_trial(spec, phases.append)
        if not retry.spoiled_by_machine(verdict):
            break
    return trial, verdict, phases
