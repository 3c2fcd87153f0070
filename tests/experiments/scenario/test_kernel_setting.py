"""A scenario's own word on the kernel."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from emulation.plan.stages import Feature
from emulation.profile import library
from emulation.profile.media import WantedMedium
from experiments.campaign import campaign as campaigns
from experiments.campaign import prepare
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import Scenario, ScenarioError
from experiments.workers.kernels import Kernels, NotPossible, Wanted
from experiments.workers.place import Place
from records.campaign import read_campaign

CONTENT = {
    "scenario": "small",
    "network": "nistnet-80211",
    "workload": {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 100},
}


def load(folder: Path, **changed: object) -> Scenario:
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(CONTENT | changed))
    return scenarios.load(path)


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choosing needs no root, but knows who may build networks."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def kernels(wanted: Wanted = "auto", medium: WantedMedium = "auto") -> Kernels:
    made = Kernels(wanted=wanted, medium=medium)
    made.__dict__.update({"host_features": dict.fromkeys(Feature, ""), "no_lab": ""})
    return made


@pytest.mark.parametrize(
    ("kernel", "medium", "place"),
    [
        ("host", "line", Place("host", "line")),
        ("host", "tc", Place("host", "tc")),
        ("lab", "tc", Place("lab", "tc")),
        ("lab", "auto", Place("lab", "tc")),
        ("auto", "line", Place("host", "line")),
    ],
)
def test_a_cell_is_where_its_scenario_says(kernel: Wanted, medium: WantedMedium, place: Place) -> None:
    profile = library.load("nistnet-80211")
    assert kernels().choose(profile, stations=2, medium=medium, kernel=kernel) == place


def test_a_kernel_can_be_a_factor(tmp_path: Path) -> None:
    folder = campaigns.create(load(tmp_path, kernel=["host", "lab"], medium="tc"), tmp_path / "results")
    chosen = prepare.choose(read_campaign(folder), folder, kernels())
    assert chosen == {"kernel=host": Place("host", "tc"), "kernel=lab": Place("lab", "tc")}


def test_a_command_that_wants_another_kernel_is_refused() -> None:
    with pytest.raises(NotPossible, match=r"--kernel host, but the scenario says kernel: lab; leave one of them out"):
        kernels("host").choose(library.load("nistnet-80211"), stations=2, kernel="lab")
    assert kernels("lab").choose(library.load("nistnet-80211"), stations=2, kernel="lab").kernel == "lab"


def test_the_line_in_the_lab_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="the line runs on the machine's own kernel"):
        load(tmp_path, kernel="lab", medium="line")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kernel": "lab"}, "station_cores with kernel: lab: shares are of this machine's processors"),
        ({"station_cores": 0}, "station_cores: "),
    ],
)
def test_shares_of_processors_that_nothing_gives_are_refused(
    tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(tmp_path, **{"station_cores": 0.3} | changed)


def test_more_processors_than_there_are_are_refused_before_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    folder = campaigns.create(load(tmp_path, stations=10, station_cores=0.25), tmp_path / "results")
    words = r"10 stations of 0\.25 cores are 2\.5, and this machine has 2: at most 0\.2 each"
    with pytest.raises(NotPossible, match=words):
        prepare.choose(read_campaign(folder), folder, kernels())
    fits = campaigns.create(load(tmp_path, scenario="fits", stations=8, station_cores=0.25), tmp_path / "results")
    assert set(prepare.choose(read_campaign(fits), fits, kernels())) == {"only"}
    with pytest.raises(NotPossible, match="the lab kernel gives no shares of a processor"):
        prepare.choose(read_campaign(fits), fits, kernels("lab"))


def test_a_kernel_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"scenario\.yaml:1: kernel: 'moon'"):
        load(tmp_path, kernel="moon")


def test_scenarios_that_say_nothing_keep_their_digest(tmp_path: Path) -> None:
    plain = load(tmp_path)
    assert "kernel" not in plain.settings.model_dump(mode="json")
    assert load(tmp_path, kernel="auto").digest == plain.digest
    assert load(tmp_path, kernel="host").digest != plain.digest
