"""Campaigns that grow until their cells are precise, with finished trials written by the test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from stopping_world import finish

from experiments.campaign import campaign as campaigns
from experiments.campaign.stopping import precisions
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import ScenarioError
from records.campaign import Campaign, read_campaign
from records.stopping import End
from records.verdict import State

CONTENT = {
    "scenario": "small",
    "network": ["nistnet-80211", "wireline-100m"],
    "trials": {"least": 3, "most": 6, "until": {"half_width": "5 %", "metrics": ["delivered_per_s"]}},
    "workload": {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 100},
}


def load(folder: Path, **changed: object) -> scenarios.Scenario:
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(CONTENT | changed))
    return scenarios.load(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return campaigns.create(load(tmp_path), tmp_path / "results")


@pytest.fixture
def campaign(folder: Path) -> Campaign:
    return read_campaign(folder)


def test_the_whole_plan_is_fixed_up_to_the_cap(campaign: Campaign, tmp_path: Path) -> None:
    assert len(campaign.order) == 2 * 6
    fixed = campaigns.plan(load(tmp_path, trials=6))
    assert campaign.order == fixed, "the rule changes which trials are run, never their order or seeds"
    assert campaign.digest != load(tmp_path, trials=6).digest


def run(folder: Path, campaign: Campaign, world: dict[str, list[float]], *, most: int = 99) -> list[tuple[str, int]]:
    """Run what is missing, one trial after the other, each reading the world's next value; the trials run."""
    done: list[tuple[str, int]] = []
    while len(done) < most and (left := campaigns.missing(folder, campaign)):
        one = left[0]
        finish(folder, one, figures={"delivered_per_s": world[one.cell][one.trial - 1]})
        done.append((one.cell, one.trial))
    return done


def test_a_steady_cell_ends_at_the_least_number_and_a_noisy_one_at_the_cap(folder: Path, campaign: Campaign) -> None:
    steady, noisy = (cell.name for cell in campaign.cells)
    world = {steady: [10.0] * 6, noisy: [10.0, 20, 10, 20, 10, 20]}
    done = run(folder, campaign, world)
    assert [sum(name == cell for name, _ in done) for cell in (steady, noisy)] == [3, 6]
    assert {name: found.end for name, found in precisions(folder, campaign).items()} == {
        steady: End.PRECISE,
        noisy: End.INCONCLUSIVE,
    }


def test_it_does_not_matter_where_a_campaign_was_interrupted(folder: Path, campaign: Campaign, tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    world = {cell.name: draw.normal(10, 0.4, 6).tolist() for cell in campaign.cells}
    whole = run(folder, campaign, world)
    assert 6 < len(whole) < 12
    for stop in range(1, len(whole)):
        again = campaigns.create(load(tmp_path), tmp_path / f"results-{stop}")
        assert run(again, campaign, world, most=stop) + run(again, campaign, world) == whole


def test_trials_that_are_not_valid_do_not_count_but_use_up_the_cap(folder: Path, campaign: Campaign) -> None:
    cell = campaign.cells[0].name
    mine = [one for one in campaign.order if one.cell == cell]
    for number, one in enumerate(mine):
        finish(folder, one, figures={"delivered_per_s": 5.0}, state=State.INVALID if number < 2 else State.VALID)
        found = precisions(folder, campaign)[cell]
        assert found.end is (End.PRECISE if number >= 4 else End.GOING_ON)
    assert (found.run, found.valid) == (6, 4)


def test_a_failed_trial_of_the_least_number_is_run_again_though_the_cell_is_precise(
    folder: Path, campaign: Campaign
) -> None:
    cell = campaign.cells[0].name
    mine = [one for one in campaign.order if one.cell == cell]
    for one in (mine[0], *mine[2:4]):
        finish(folder, one, figures={"delivered_per_s": 5.0})
    assert [one for one in campaigns.missing(folder, campaign) if one.cell == cell] == [mine[1]]


@pytest.mark.parametrize(
    ("trials", "message"),
    [
        (0, "trials.least: 0: "),
        ({"least": 3, "most": 10}, "most is the cap of a rule"),
        ({"least": 1, "until": {}}, "one trial has no interval"),
        ({"least": 4, "most": 3, "until": {}}, "most: 3 is fewer than least"),
        ({"until": {"half_width": "5 %", "metrics": ["goodput"]}}, "goodput: trials are repeated for delivered_per_s"),
        ({"until": {"half_width": 0}}, r"trials.until.half_width: 0: "),
        ({"until": {"metrics": []}}, r"trials.until.metrics"),
        ([3, 4], r"trials"),
    ],
)
def test_a_bad_rule_is_refused(tmp_path: Path, trials: object, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(tmp_path, trials=trials)


def test_a_rule_has_the_study_s_defaults(tmp_path: Path) -> None:
    rule = load(tmp_path, trials={"until": {}}).settings.trials.rule
    assert rule is not None
    assert (rule.least, rule.most, rule.half_width) == (3, 10, 0.05)
    assert rule.metrics == ("delivered_per_s", "published_per_s", "latency_mean_s")


def test_a_number_of_trials_stays_a_number_in_the_record(tmp_path: Path) -> None:
    settings = load(tmp_path, trials=4).settings
    assert settings.model_dump(mode="json")["trials"] == 4
    assert type(settings).model_validate(settings.model_dump(mode="json")) == settings
    ruled = load(tmp_path).settings
    assert type(ruled).model_validate(ruled.model_dump(mode="json")) == ruled


@pytest.mark.parametrize(
    ("parallel", "message"),
    [
        ({"trials": 2, "when": {"netwrok": "nistnet-80211"}}, r"parallel\.when\.netwrok: is not a factor"),
        ({"trials": 2, "when": {"network": ["wireles"]}}, r"parallel\.when\.network: 'wireles' is not one of its"),
        (0, r"parallel\.trials: 0"),
    ],
)
def test_a_bad_word_on_trials_side_by_side_is_refused(tmp_path: Path, parallel: object, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(tmp_path, parallel=parallel)
