"""The keys `compare` and `baseline` of a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.campaign import campaign as campaigns
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import ScenarioError
from records.campaign import read_campaign
from records.comparing import Compared

STACKS = "scenario: small\nnetwork: nistnet-80211\nstack: [reference, 'null']\n"
WORKLOAD = "workload: {clients: {publishers: 1, subscribers: 1}, body_bytes: [100, 200]}\n"


def load(tmp_path: Path, text: str) -> scenarios.Scenario:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    return scenarios.load(path)


def test_any_factor_can_be_compared_against_any_of_its_levels(tmp_path: Path) -> None:
    text = STACKS + WORKLOAD
    assert load(tmp_path, text).compared is None
    assert load(tmp_path, f"{text}compare: stack\n").compared == Compared("stack", "reference")
    assert load(tmp_path, f"{text}compare: stack\nbaseline: 'null'\n").compared == Compared("stack", "null")
    assert load(tmp_path, f"{text}compare: body_bytes\nbaseline: 200\n").compared == Compared("body_bytes", "200")


def test_a_campaign_keeps_what_its_scenario_compares(tmp_path: Path) -> None:
    folder = campaigns.create(load(tmp_path, f"{STACKS}{WORKLOAD}compare: stack\nbaseline: 'null'\n"), tmp_path)
    assert read_campaign(folder).compared == Compared("stack", "null")


def test_a_part_that_leaves_the_baseline_out_is_compared_with_its_first_level(tmp_path: Path) -> None:
    whole = load(tmp_path, f"{STACKS}{WORKLOAD}compare: stack\nbaseline: 'null'\n")
    assert scenarios.only(whole, ["stack=reference"]).compared == Compared("stack", "reference")


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        ("compare: stak", r":5: compare: 'stak' is no factor here; .* or more: stack, body_bytes"),
        ("compare: network", r":5: compare: 'network' is no factor here; .* or more: stack, body_bytes"),
        ("compare: [stack]", r":5: compare: holds for the whole campaign"),
        (
            "compare: stack\nbaseline: activemq",
            r":6: baseline: 'activemq' is not a level of factor stack: reference, null",
        ),
        ("baseline: reference", r":5: baseline: 'reference': say whose level it is"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_line_value_and_what_can(
    last: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError, match=rf"scenario\.yaml{problem}"):
        load(tmp_path, f"{STACKS}{WORKLOAD}{last}\n")


def test_a_factor_of_one_level_has_nothing_to_compare(tmp_path: Path) -> None:
    text = f"{STACKS}{WORKLOAD}compare: stations\nstations: [2]\n"
    with pytest.raises(ScenarioError, match=r":5: compare: 'stations' has one level, 2; .*: stack, body_bytes"):
        load(tmp_path, text)
