"""A replay has its trial's own medium, or says why not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from lab_runs import scenario_file
from stopping_world import LINK as NO_LOSSES
from stopping_world import finish

from emulation.plan.stages import Feature
from emulation.profile.media import MediumName, WantedMedium
from experiments.campaign import campaign as campaigns
from experiments.campaign import prepare, replay
from experiments.scenario import scenario as scenarios
from experiments.trial.context import link_plan
from experiments.workers.kernels import Kernels, NotPossible
from records.campaign import read_campaign
from records.filenames import LINK
from records.link import LossList
from records.store import Trial, write_record

EVERYTHING = dict.fromkeys(Feature, "")


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def kernels(medium: WantedMedium = "auto", **lacks: str) -> Kernels:
    made = Kernels(medium=medium)
    features = EVERYTHING | {Feature[name]: why for name, why in lacks.items()}
    made.__dict__.update({"host_features": features, "no_lab": "no lab kernel"})
    return made


def trial(folder: Path, medium: MediumName | None, **settings: Any) -> Trial:
    """A finished one whose link was made by this medium; None: by a version that had no choice."""
    path = campaigns.create(scenarios.load(scenario_file(folder, **settings)), folder / "there")
    (planned,) = read_campaign(path).order
    (cell,) = read_campaign(path).cells
    more = {} if medium is None else {"medium": medium}
    done = finish(path, planned, profile=cell.settings["profile"], **more)
    stations = [node.name for node in done.manifest().nodes if node.role == "station"]
    lists = tuple(
        LossList(
            name=one.name, direction=one.direction, model=one.model, seed=one.seed, modulus=one.modulus,
            listed=len(one.indices), sha256=one.digest,
        )
        for one in link_plan(prepare.profile_of(cell), prepare.settings_of(cell), stations, planned.seed).losses
    )  # fmt: skip
    write_record(done.path / LINK, NO_LOSSES.model_copy(update={"loss_lists": lists}))
    return done


@pytest.mark.parametrize(("made_by", "medium"), [("line", "line"), ("tc", "tc"), (None, "tc")])
@pytest.mark.parametrize("said", ["auto", "itself"])
def test_a_replay_insists_on_its_trials_medium(
    tmp_path: Path, made_by: MediumName | None, medium: MediumName, said: str
) -> None:
    """On a kernel with everything, where `auto` takes tc, and whatever the scenario left open."""
    asked = kernels("auto" if said == "auto" else medium)
    folder = replay.create(trial(tmp_path, made_by), tmp_path / "here", stack=None, kernels=asked)
    campaign = read_campaign(folder)
    assert [prepare.settings_of(cell).medium for cell in campaign.cells] == [medium]
    assert {place.medium for place in prepare.choose(campaign, folder, kernels()).values()} == {medium}


def test_what_its_scenario_says_of_the_kernel_holds_for_its_replay(tmp_path: Path) -> None:
    done = trial(tmp_path, "tc", kernel="lab")
    with pytest.raises(NotPossible, match=r"made by tc, and a replay's is, too.*no lab kernel"):
        replay.create(done, tmp_path / "here", stack=None, kernels=kernels())


@pytest.mark.parametrize(
    ("made_by", "asked", "said"),
    [
        (
            "line",
            kernels("tc"),
            r"trial-001: its link was made by the line, and a replay's is, too: --medium tc would give",
        ),
        (
            None,
            kernels("line"),
            r"its link was made by tc, and a replay's is, too: --medium line would give packets other",
        ),
        ("line", kernels(TUN="no such device"), r"made by the line.*has no tun.*no such device.*modprobe tun"),
        ("tc", kernels(NETEM="unknown"), r"made by tc.*no netem.*no lab kernel"),
    ],
    ids=["tc", "line", "no tun", "no netem"],
)
def test_where_its_medium_cannot_be_had_nothing_is_made(
    tmp_path: Path, made_by: MediumName | None, asked: Kernels, said: str
) -> None:
    done = trial(tmp_path, made_by, network="lte")
    with pytest.raises(NotPossible, match=said):
        replay.create(done, tmp_path / "here", stack=None, kernels=asked)
    assert not (tmp_path / "here").exists()
