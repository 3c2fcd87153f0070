"""What a trial is told travels as one line, and what cannot be is refused where the line is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from origin import origin

from experiments.campaign import campaign as campaigns
from experiments.campaign import runner
from experiments.scenario import scenario as scenarios
from experiments.trial.context import TrialSpec
from experiments.workers.lines import ProtocolError, line, read
from records.campaign import read_campaign

ROOT = Path(__file__).parents[3]
SCENARIOS = (
    "scenarios/wireless-vs-wireline.yaml",
    "papers/gaddah_kunz/matrix.yaml",
    "papers/gaddah_kunz/mobility.yaml",
)


def spec(scenario: str, results: Path) -> TrialSpec:
    folder = campaigns.create(scenarios.load(ROOT / "experiments" / scenario), results)
    campaign = read_campaign(folder)
    planned = campaign.order[0]
    cell = next(one for one in campaign.cells if one.name == planned.cell)
    return runner.spec(folder, campaign, cell, planned, origin())


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_trial_is_told_its_settings_and_its_link_as_they_are(scenario: str, tmp_path: Path) -> None:
    told = spec(scenario, tmp_path)
    cell = next(one for one in scenarios.load(ROOT / "experiments" / scenario).cells if one.name == told.cell)
    assert (told.settings, told.profile) == (cell.settings, cell.profile)
    assert read(line(told), TrialSpec) == told


def test_settings_that_cannot_be_are_refused_where_the_line_is_read(tmp_path: Path) -> None:
    data = json.loads(line(spec(SCENARIOS[0], tmp_path)))
    data["settings"]["workload"]["body_bytes"] = 5
    with pytest.raises(ProtocolError, match=r"settings\.workload\.body_bytes: Input should be greater"):
        read(json.dumps(data), TrialSpec)
