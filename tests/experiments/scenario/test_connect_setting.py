"""`connect` of a scenario: a choice of two, a factor like any other, and bare in campaigns from before it existed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab_runs import scenario_file

from experiments.campaign import campaign as campaigns
from experiments.campaign import prepare
from experiments.campaign.durations import own_s
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import ScenarioError
from experiments.scenario.settings import from_campaign
from records.campaign import Campaign, read_campaign


def planned(folder: Path, **settings: Any) -> Campaign:
    return read_campaign(campaigns.create(scenarios.load(scenario_file(folder, **settings)), folder / "results"))


def of_before(campaign: Campaign) -> Campaign:
    """The same campaign as a version wrote it that knew no `connect`."""
    cells = []
    for cell in campaign.cells:
        settings = {key: value for key, value in cell.settings["settings"].items() if key != "connect"}
        cells.append(cell.model_copy(update={"settings": cell.settings | {"settings": settings}}))
    return campaign.model_copy(update={"cells": tuple(cells)})


def test_clients_connect_over_the_link_unless_the_scenario_says_otherwise(tmp_path: Path) -> None:
    (cell,) = planned(tmp_path).cells
    assert prepare.settings_of(cell).connect == "link"
    (cell,) = planned(tmp_path, connect="bare").cells
    assert prepare.settings_of(cell).connect == "bare"


def test_another_word_is_refused_with_the_two_there_are(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"scenario\.yaml:\d+: connect: 'wire': .*'link' or 'bare'"):
        scenarios.load(scenario_file(tmp_path, connect="wire"))


def test_both_can_be_compared_in_one_scenario(tmp_path: Path) -> None:
    campaign = planned(tmp_path, connect=["link", "bare"])
    assert campaign.factors == {"connect": ("link", "bare")}
    assert [prepare.settings_of(cell).connect for cell in campaign.cells] == ["link", "bare"]


def test_another_choice_is_another_campaign(tmp_path: Path) -> None:
    assert planned(tmp_path).digest != planned(tmp_path, connect="bare").digest


def test_a_campaign_from_before_goes_on_as_it_began(tmp_path: Path) -> None:
    for cell in of_before(planned(tmp_path)).cells:
        assert prepare.settings_of(cell).connect == "bare"
    assert from_campaign(scenarios.load(scenario_file(tmp_path)).settings.model_dump()).connect == "link"


def test_connecting_is_in_the_time_that_a_trial_is_given(tmp_path: Path) -> None:
    def seconds(connect: str) -> float:
        many = {"clients": {"publishers": 200, "subscribers": 200, "topics": 200}, "body_bytes": 100}
        (found,) = own_s(planned(tmp_path, network="nistnet-80211", workload=many, connect=connect)).values()
        return found

    assert seconds("bare") == pytest.approx(0.3 + 2 + 3)
    assert seconds("link") > seconds("bare") + 10
