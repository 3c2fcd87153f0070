"""A campaign that keeps captures of some trials, or records none, is reported whole, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from packs import pack, reduced
from synthetic_campaign import Spec, write_campaign

from analysis.findings import Findings, Standing, TrialFinding, gather
from analysis.report.build import write
from analysis.spark.export import plan_campaign
from records.campaign import read_campaign
from records.filenames import MANIFEST
from records.pack import extract
from records.store import Trial, trials, write_record

CELL = "nistnet-80211_100_dp"
EVERY_THIRD = "captures are kept of one trial in 3 (capture.keep_every), and not of this one"
OFF = "nothing was captured: the scenario has capture off"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of three trials one kept its captures, one counted them only, one recorded none."""
    spec = Spec(networks=("nistnet-80211",), bodies=(100,), guarantees=("durable, persistent",), packets=5)
    folder = write_campaign(tmp_path_factory.mktemp("kept"), spec)
    _, counted, off = trials(folder)
    unkept = [one.model_copy(update={"sha256": ""}) for one in counted.manifest().captures]
    _without_files(counted, captures=tuple(unkept), no_captures=EVERY_THIRD)
    _without_files(off, captures=(), no_captures=OFF)
    return folder


def _without_files(trial: Trial, **update: object) -> None:
    for path in trial.path.glob("*.pcap"):
        path.unlink()
    write_record(trial.path / MANIFEST, trial.manifest().model_copy(update=update))


@pytest.fixture(scope="module")
def found(campaign: Path) -> Findings:
    finished = trials(campaign)
    return gather(read_campaign(campaign), campaign, finished, reduced([trial.path for trial in finished]))


def told(findings: Findings, number: int) -> TrialFinding:
    return next(one for one in findings.trials if one.number == number)


def test_without_captures_a_trial_counts_and_claims_nothing_of_packets(found: Findings) -> None:
    (cell,) = found.cells
    for trial in cell.trials:
        assert (trial.standing, trial.reasons) == (Standing.VALID, [])
        assert trial.metrics["delivered_per_s"] > 0
        assert bool(trial.flows) is (trial.number == 1)
        assert ("retr_share_uplink" in trial.metrics) is (trial.number == 1)
    assert len(cell.values("delivered_per_s")) == 3
    assert len(cell.values("retr_share_uplink")) == 1
    assert [told(found, number).journey_why for number in (2, 3)] == [EVERY_THIRD, OFF]


@pytest.mark.usefixtures("blank_plots")
def test_the_report_says_of_which_trials_there_are_no_captures_and_why(found: Findings) -> None:
    page = write(found).read_text()
    assert (
        "1 trial without captures, 1 trial whose captures were counted and not kept, of 3: "
        "without them there are no TCP figures and no journeys"
    ) in page
    glossary = page[page.index("What each metric counts") :].partition("</dl>")[0]
    assert "<dt>Subscriber throughput</dt>" in glossary
    assert "request" not in glossary, "a campaign without requests explains nothing of them"
    assert f"trial 2: {EVERY_THIRD}" in page
    assert f"trial 3: {OFF}" in page
    own = (found.folder / "trials" / f"{CELL}-trial-003.html").read_text()
    assert OFF in own
    assert "not kept" in (found.folder / "trials" / f"{CELL}-trial-002.html").read_text()


@pytest.mark.usefixtures("blank_plots")
def test_a_campaign_whose_captures_were_all_kept_says_nothing_of_them(tmp_path: Path) -> None:
    folder = write_campaign(tmp_path, Spec(bodies=(100,), guarantees=("durable, persistent",), packets=5, trials=1))
    finished = trials(folder)
    page = write(gather(read_campaign(folder), folder, finished, reduced([one.path for one in finished]))).read_text()
    assert "no TCP figures" not in page


def test_it_is_exported_and_packed_without_the_captures_that_it_lacks(campaign: Path, tmp_path: Path) -> None:
    plan, _ = plan_campaign(campaign)
    assert plan.problems == ()
    assert sum(piece.table == "packets" for piece in plan.pieces) == 1
    extract(pack(campaign, tmp_path / "pack"), _made(tmp_path / "out"))
    assert reduced([tmp_path / "out" / CELL / "trial-003"]).num_rows > 100


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
