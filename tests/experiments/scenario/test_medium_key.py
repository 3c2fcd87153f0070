"""The scenario's key `medium`: its words, a factor, what the line cannot carry, digests that stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab_runs import SMALL, scenario_file

from experiments.campaign import campaign as campaigns
from experiments.campaign import prepare
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import ScenarioError
from experiments.scenario.settings import Settings, from_campaign
from experiments.workers.kernels import Kernels
from experiments.workers.place import Place
from records.campaign import read_campaign

ROOT = Path(__file__).parents[3]


def text(folder: Path, *lines: str) -> Path:
    """A scenario in which each line stands where it is counted from the fifth on."""
    path = folder / "scenario.yaml"
    head = ("scenario: small", "stack: reference", "stations: 2",
            "workload: {clients: {publishers: 1, subscribers: 1}, body_bytes: 100}")  # fmt: skip
    path.write_text("\n".join((*head, *lines)) + "\n")
    return path


def test_a_scenario_that_does_not_say_leaves_it_to_the_machine(tmp_path: Path) -> None:
    (cell,) = scenarios.load(scenario_file(tmp_path)).cells
    assert cell.settings.medium == "auto"


def test_a_medium_is_a_factor_like_any_other(tmp_path: Path) -> None:
    loaded = scenarios.load(scenario_file(tmp_path, medium=["line", "tc"]))
    assert [(cell.name, cell.settings.medium) for cell in loaded.cells] == [
        ("medium=line", "line"),
        ("medium=tc", "tc"),
    ]
    assert loaded.factors == {"medium": ("line", "tc")}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("network: lte", "medium: cable"), "scenario.yaml:6: medium: 'cable': has to be 'auto', 'line' or 'tc'"),
        (("medium: [tc, radio]", "network: lte"), "scenario.yaml:5: medium: 'radio': has to be"),
        (
            ("network: lte", "medium: tc", "group_frames: true"),
            "group_frames: true with medium: tc: frames to a group: by tc one that takes",
        ),
        (
            ("network: lte", "kernel: lab", "group_frames: true"),
            "group_frames: true with kernel: lab, where tc makes every link: frames to a group",
        ),
        (
            ("network: wireline-1g", "medium: line"),
            "scenario.yaml:6: medium: 'line': the line carries 150 Mbit/s at most",
        ),
        (
            ("stations: 3", "network: wireline-100m", "medium: [tc, line]"),
            "scenario.yaml:7: medium: 'line': the line carries 50,000 frames/s at most, and profile 'wireline-100m' ",
        ),
        (
            ("network: [lte, 5g]", "medium: line"),
            "scenario.yaml:6: medium: 'line': the line carries 30,000 frames/s at most where jitter, order",
        ),
    ],
)
def test_what_cannot_be_is_told_with_its_line(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    path = text(tmp_path, *lines)
    if lines[0].startswith("stations"):
        path.write_text(path.read_text().replace("stations: 2", "seed: 1"))
    with pytest.raises(ScenarioError) as caught:
        scenarios.load(path)
    assert said in str(caught.value)


def test_digests_and_records_are_as_before_where_nothing_is_said(tmp_path: Path) -> None:
    plain, said = (scenarios.load(scenario_file(tmp_path, **more)) for more in ({}, {"medium": "auto"}))
    line = scenarios.load(scenario_file(tmp_path, medium="line"))
    assert plain.digest == said.digest != line.digest
    dumped = plain.settings.model_dump(mode="json")
    assert "medium" not in dumped
    assert from_campaign(dumped) == plain.settings
    assert from_campaign(json.loads(line.settings.model_dump_json())).medium == "line"
    assert Settings.model_validate(line.settings.model_dump()).medium == "line"


def test_each_cell_has_a_place_of_its_own(tmp_path: Path) -> None:
    loaded: dict[str, Any] = {"medium": ["line", "tc"], "network": "nistnet-80211"}
    folder = campaigns.create(scenarios.load(scenario_file(tmp_path, **loaded)), tmp_path / "results")
    campaign = read_campaign(folder)
    asked = []

    class Asked(Kernels):
        def choose(self, *_: object, stations: int, medium: Any = "auto", **__: object) -> Place:
            asked.append((stations, medium))
            return Place("host", medium)

    places = prepare.choose(campaign, folder, Asked())
    assert asked == [(SMALL["stations"], "line"), (SMALL["stations"], "tc")]
    assert places == {"medium=line": Place("host", "line"), "medium=tc": Place("host", "tc")}
