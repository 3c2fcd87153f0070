"""`lab compare` as a gate: what it takes for A and B, what it prints, and with which status it ends."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner

from experiments.campaign import campaign as campaigns
from experiments.campaign.campaign import CampaignError
from lab.main import app
from lab.revisions import Named, NotFound, choose, named, said
from lab.start import find
from records.campaign import read_campaign
from records.filenames import RECORD

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.spark

OLD, NEW = "1a" * 20, "2b" * 20
FIRST = "20240101-000000-aaaaaaaa"
SMALL = {"bodies": (100,), "guarantees": ("non-durable, non-persistent",), "networks": ("nistnet-80211",), "trials": 4}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    for spec in (
        Spec(**SMALL, name="20240101-000000-aaaaaaaa", revision=OLD),
        Spec(**SMALL, name="20240102-000000-aaaaaaaa", revision=OLD, slow=(1.01, 0.99)),
        Spec(**SMALL, name="20240103-000000-aaaaaaaa", revision=NEW, pace=(0.8,), slow=(1.2,)),
        Spec(**SMALL, name="20240104-000000-aaaaaaaa", revision=NEW,
             absent=frozenset({("nistnet-80211_100_ndnp", 4)})),
        Spec(**SMALL, name="20240105-000000-bbbbbbbb", revision=OLD, scenario="another"),
    ):  # fmt: skip
        write_campaign(root, spec)
    return root


@pytest.mark.usefixtures("shared_session")
def test_a_gate_over_two_commits_fails_when_the_second_is_worse(results: Path, tmp_path: Path) -> None:
    words = ["compare", OLD[:12], NEW[:12], "--results", str(results), "--json", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*words, "--margin", "10 %"])
    assert done.exit_code == 1, done.stderr
    found = json.loads(done.stdout)
    assert (found["verdict"], found["status"], found["margin"]) == ("worse", 1, 0.1)
    # Of the old commit the latest campaign of that scenario, of the new one the latest that is finished.
    assert (found["a"]["campaign"], found["b"]["campaign"]) == ("20240102-000000-aaaaaaaa", "20240103-000000-aaaaaaaa")
    assert "the latest of 3 campaigns of revision 1a1a1a1a1a1a" in done.stderr
    assert "the campaign of revision 2b2b2b2b2b2b" in done.stderr
    assert {row["metric"]: row["verdict"] for row in found["rows"]}["delivered_per_s"] == "worse"
    assert (tmp_path / "out" / "compare-20240102-000000-aaaaaaaa-20240103-000000-aaaaaaaa.html").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((FIRST, "nowhere"), "nowhere: no folder, no campaign in"),
        ((FIRST, "deadbee"), "no finished campaign in"),
        ((FIRST, FIRST), "are the same campaign"),
        ((FIRST, str(ROOT / "lab")), "there is no campaign.json in it"),
        ((FIRST, NEW, "--metric", "speed"), "--metric: 'speed' is not one of delivered_per_s"),
        ((FIRST, NEW, "--metric", "air_utilisation"), "--metric: 'air_utilisation' is not one of"),
        ((FIRST, NEW, "--margin", "5"), "--margin: '5' is not a share below 100 %, such as 5%"),
    ],
)
def test_what_cannot_be_compared_ends_with_status_2_and_one_message(
    results: Path, words: tuple[str, ...], message: str
) -> None:
    done = CliRunner().invoke(app, ["compare", *words, "--results", str(results)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_campaign_is_found_by_folder_by_name_and_as_it_is_listed(results: Path) -> None:
    folder = results / "synthetic" / "20240101-000000-aaaaaaaa"
    for name in (str(folder), folder.name, f"synthetic/{folder.name}"):
        assert named(results, name) == Named(name=name, folders=(folder.resolve(),))
        assert find(results, name) == folder


def test_a_scenarios_name_stands_for_its_latest_campaign(results: Path) -> None:
    latest = results / "synthetic" / "20240104-000000-aaaaaaaa"
    assert find(results, "synthetic") == latest
    assert named(results, "synthetic").folders == (latest,)


def test_a_folder_of_that_name_that_is_no_campaign_is_not_meant(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(results)
    latest = results / "synthetic" / "20240104-000000-aaaaaaaa"
    assert find(results, "synthetic") == latest
    assert named(results, "synthetic").folders == (latest,)
    with pytest.raises(CampaignError, match="no campaign ''"):
        find(results, "")


def test_a_revision_stands_for_finished_campaigns_all_of_whose_trials_carry_it(results: Path) -> None:
    assert [folder.name for folder in named(results, NEW[:7]).folders] == ["20240103-000000-aaaaaaaa"]
    assert len(named(results, OLD).folders) == 3
    with pytest.raises(NotFound, match="3c3c3c3c3c3c"):
        named(results, "3c" * 20)


def test_head_is_the_commit_that_git_says(results: Path, tmp_path: Path) -> None:
    head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    folder = write_campaign(tmp_path, Spec(**SMALL, name="20240109-000000-aaaaaaaa", revision=head.stdout.strip()))
    found = named(tmp_path, "HEAD")
    assert found.folders == (folder,)
    assert said(found, folder).startswith("HEAD: ")
    assert named(tmp_path, "HEAD~0").folders == (folder,)
    with pytest.raises(NotFound):
        named(results, "HEAD")


def test_the_latest_of_one_scenario_is_chosen(results: Path) -> None:
    old, new = named(results, OLD), named(results, NEW)
    assert [path.name for path in choose(old, new)] == ["20240102-000000-aaaaaaaa", "20240103-000000-aaaaaaaa"]
    assert [path.name for path in choose(old, old)] == ["20240101-000000-aaaaaaaa", "20240102-000000-aaaaaaaa"]
    with pytest.raises(NotFound, match="no scenario was run of both"):
        choose(named(results, "another/20240105-000000-bbbbbbbb"), new_of_two(new))


def new_of_two(one: Named) -> Named:
    return Named(name=one.name, folders=(*one.folders, *one.folders), revision=one.revision)


def test_a_campaign_that_cannot_be_read_is_no_campaign_of_a_revision(results: Path, tmp_path: Path) -> None:
    folder = write_campaign(tmp_path, Spec(**SMALL, name="20240101-000000-aaaaaaaa", revision=OLD))
    assert read_campaign(folder)
    (folder / RECORD).write_text("{")
    with pytest.raises(NotFound):
        named(tmp_path, OLD)
    assert campaigns.folders(tmp_path) == [folder]
