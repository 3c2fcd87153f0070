from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import yaml
from packs import files

from experiments.campaign import campaign as campaigns
from experiments.campaign.campaign import CampaignError
from experiments.scenario import scenario as scenarios
from records.campaign import put_record, read_campaign
from records.filenames import RECORD
from records.publishing import PUBLISHED
from records.record import Record
from records.store import TrialWriter


@pytest.fixture
def scenario(tmp_path: Path) -> scenarios.Scenario:
    path = tmp_path / "scenario.yaml"
    content = {
        "scenario": "small",
        "network": ["nistnet-80211", "wireline-100m"],
        "stations": [1, 2, 3],
        "trials": 4,
        "seed": 9,
        "workload": {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 100},
    }
    path.write_text(yaml.safe_dump(content))
    return scenarios.load(path)


def test_every_cell_runs_once_per_round_in_an_order_that_the_seed_decides(scenario: scenarios.Scenario) -> None:
    planned = campaigns.plan(scenario)
    assert planned == campaigns.plan(scenario)
    rounds = [planned[start : start + 6] for start in range(0, 24, 6)]
    for number, one in enumerate(rounds, start=1):
        assert {entry.cell for entry in one} == {cell.name for cell in scenario.cells}
        assert {entry.trial for entry in one} == {number}
    assert len({tuple(entry.cell for entry in one) for one in rounds}) > 1


def test_another_seed_gives_another_order_and_other_trials(scenario: scenarios.Scenario) -> None:
    content = scenario.path.read_text()
    assert "seed: 9\n" in content
    scenario.path.write_text(content.replace("seed: 9\n", "seed: 10\n"))
    ours, others = campaigns.plan(scenario), campaigns.plan(scenarios.load(scenario.path))
    assert [entry.cell for entry in ours] != [entry.cell for entry in others]
    assert not {entry.seed for entry in ours} & {entry.seed for entry in others}


def test_a_trial_number_has_one_seed_in_all_cells(scenario: scenarios.Scenario) -> None:
    seeds: dict[int, set[int]] = {}
    for entry in campaigns.plan(scenario):
        seeds.setdefault(entry.trial, set()).add(entry.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 4


def test_a_campaign_remembers_its_plan_and_keeps_the_scenario(scenario: scenarios.Scenario, tmp_path: Path) -> None:
    folder = campaigns.create(scenario, tmp_path / "results")
    campaign = read_campaign(folder)
    assert campaign.order == campaigns.plan(scenario)
    assert campaign.digest == scenario.digest
    assert (folder / "scenario.yaml").read_bytes() == scenario.path.read_bytes()
    assert (folder.parent / "latest").resolve() == folder.resolve()


def test_two_campaigns_in_one_second_get_two_folders(scenario: scenarios.Scenario, tmp_path: Path) -> None:
    root = tmp_path / "results"
    assert len({campaigns.create(scenario, root) for _ in range(3)}) == 3
    assert len(campaigns.folders(root)) == 3


def half_written(path: Path, campaign: Record) -> None:
    """As a disk that is full has it."""
    path.write_text(campaign.model_dump_json()[:100])
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_campaign_that_cannot_be_given_more_trials_has_those_that_it_had(
    scenario: scenarios.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = campaigns.create(scenario, tmp_path / "results", first=1)
    before, campaign = files(folder), read_campaign(folder)
    more = campaigns.plan(scenario)[len(campaign.order) :]
    with monkeypatch.context() as patch:
        patch.setattr("records.campaign.write_record", half_written)
        with pytest.raises(OSError, match="No space left"):
            campaigns.lengthen(folder, more)
    assert (files(folder), read_campaign(folder)) == (before, campaign)
    campaigns.lengthen(folder, more)
    assert read_campaign(folder).order == campaigns.plan(scenario)
    assert files(folder).keys() == before.keys()


def test_a_campaign_that_cannot_be_made_leaves_nothing_and_the_one_before_is_the_latest(
    scenario: scenarios.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "results"
    folder = campaigns.create(scenario, root)
    before = files(root)
    seen: list[set[str]] = []

    def seen_half_written(path: Path, campaign: Record) -> None:
        try:
            half_written(path, campaign)
        finally:
            seen.append({one.name for one in path.parent.iterdir()})

    monkeypatch.setattr("records.campaign.write_record", seen_half_written)
    with pytest.raises(OSError, match="No space left"):
        campaigns.create(scenario, root)
    assert (files(root), campaigns.folders(root)) == (before, [folder])
    assert [RECORD in names for names in seen] == [False], "nobody sees half of a record"
    assert (folder.parent / "latest").resolve() == folder.resolve()


def test_what_is_finished_is_not_missing(scenario: scenarios.Scenario, tmp_path: Path) -> None:
    folder = campaigns.create(scenario, tmp_path / "results")
    campaign = read_campaign(folder)
    first = campaign.order[0]
    assert campaigns.missing(folder, campaign) == list(campaign.order)
    writer = TrialWriter(folder, first.cell, first.trial)
    writer.open()
    assert campaigns.missing(folder, campaign) == list(campaign.order)
    writer.path.rename(writer.final)
    assert campaigns.missing(folder, campaign) == list(campaign.order[1:])


def test_the_latest_unfinished_campaign_of_the_same_scenario_is_found(
    scenario: scenarios.Scenario, tmp_path: Path
) -> None:
    root = tmp_path / "results"
    assert campaigns.latest_unfinished(root) is None
    folder = campaigns.create(scenario, root)
    assert campaigns.latest_unfinished(root, scenario.digest) == folder
    assert campaigns.latest_unfinished(root, "0" * 64) is None
    campaign = read_campaign(folder)
    first, *others = campaign.cells
    settings = {**first.settings["settings"], "stations": first.settings["settings"]["stations"] + 1}
    changed = first.model_copy(update={"settings": {**first.settings, "settings": settings}})
    put_record(folder, campaign.model_copy(update={"cells": (changed, *others)}))
    assert read_campaign(folder).digest == scenario.digest
    assert not campaigns.is_of(campaign.model_copy(update={"digest": "1" * 64}), scenario.digest), "a replay of a trial"
    assert campaigns.latest_unfinished(root, scenario.digest) is None, "its word alone is not enough"


def test_one_that_was_copied_in_part_is_passed_over(scenario: scenarios.Scenario, tmp_path: Path) -> None:
    root = tmp_path / "results"
    whole, part = campaigns.create(scenario, root), campaigns.create(scenario, root)
    assert campaigns.latest_unfinished(root) == part
    (part / "_publishing-00000.json").write_text("{}")
    assert campaigns.latest_unfinished(root, scenario.digest) == whole
    (part / PUBLISHED).write_text("{}")
    assert campaigns.latest_unfinished(root, scenario.digest) == part


def test_one_command_at_a_time_owns_a_campaign(scenario: scenarios.Scenario, tmp_path: Path) -> None:
    folder = campaigns.create(scenario, tmp_path / "results")
    with campaigns.owned(folder):
        with (
            pytest.raises(CampaignError, match="another command is running this campaign"),
            campaigns.owned(folder, patience_s=0.1),
        ):
            pass
        unfinished = TrialWriter(folder, "cell", 1).open()
        campaigns.sweep(tmp_path / "results")
        assert unfinished.exists(), "a running trial was swept away"
    campaigns.sweep(tmp_path / "results")
    assert not unfinished.exists()
