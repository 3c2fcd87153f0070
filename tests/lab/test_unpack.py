"""`lab unpack`: a campaign comes back whole or not at all, goes on where it stopped, and takes no harm from a pack."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments.campaign import campaign as campaigns
from experiments.campaign.campaign import CampaignError, owned
from experiments.campaign.loads import last_alone_cpu
from experiments.campaign.stopping import precisions
from experiments.campaign.unpack import unpack
from lab.main import app
from records.campaign import read_campaign
from records.filenames import MANIFEST, RECORD
from records.pack import BadPack
from records.stopping import Rule
from records.store import FOREIGN, DamagedTrial, Trial, aside, set_aside, trials, why_aside, write_record

ROOT = Path(__file__).parents[2]

from packs import copy, files, pack  # noqa: E402
from synthetic_campaign import Spec, write_campaign  # noqa: E402

NAME, LATER = "20240101-000000-aaaaaaaa", "20240102-000000-aaaaaaaa"
SMALL = {"bodies": (100,), "guarantees": ("durable, persistent",), "packets": 5}
CELL = "nistnet-80211_100_dp"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cells under a stopping rule: one has all five trials, one has three, of which one was repeated."""
    root = tmp_path_factory.mktemp("original")
    folder = write_campaign(root, Spec(**SMALL, trials=5, name=NAME, absent=frozenset({(CELL, 4), (CELL, 5)})))
    rule = Rule(least=3, most=5, half_width=0.05, metrics=("delivered_per_s",))
    write_record(folder / RECORD, read_campaign(folder).model_copy(update={"stopping": rule}))
    (folder / campaigns.SCENARIO_COPY).write_text("scenario: synthetic\n")
    for trial in trials(folder):
        wide = trial.path.parent.name == CELL
        figures = {"delivered_per_s": 100.0 + (40 if wide else 0.1) * trial.number}
        update = {"figures": figures, "latency_of": "sent", "machine_cpu": 0.1 * trial.number}
        write_record(trial.path / MANIFEST, trial.manifest().model_copy(update=update))
    spoiled = copy_of_trial(folder / CELL / "trial-003")
    set_aside(Trial(folder / CELL / "trial-003"), "the machine stalled, so it is run again (heartbeat)")
    spoiled.rename(folder / CELL / "trial-003")
    return folder


@pytest.fixture(scope="module")
def packed(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack(original, tmp_path_factory.mktemp("pack") / "c.airwire.tar.xz")


def copy_of_trial(path: Path) -> Path:
    return shutil.copytree(path, path.with_name(".copy"))


def test_a_campaign_goes_on_elsewhere_with_the_trials_that_it_lacks(
    original: Path, packed: Path, tmp_path: Path
) -> None:
    found = unpack(packed, tmp_path)
    folder, campaign = found.folder, read_campaign(found.folder)
    assert (found.added, found.kept, folder) == (8, 0, tmp_path / "synthetic" / NAME)
    assert campaign == read_campaign(original)
    left = campaigns.missing(folder, campaign)
    assert left == campaigns.missing(original, campaign)
    assert [(one.cell, one.trial) for one in left] == [(CELL, 4), (CELL, 5)]  # the other cell is precise enough
    assert precisions(folder, campaign) == precisions(original, campaign)
    assert last_alone_cpu(folder / CELL) == last_alone_cpu(original / CELL) is not None
    assert campaigns.latest_unfinished(tmp_path) == folder
    stalls = [aside(Trial(place / CELL / "trial-003")) for place in (original, folder)]
    assert [[path.name for path in one] for one in stalls] == [[".set-aside-trial-003-1"]] * 2
    assert why_aside(stalls[1][0]) == why_aside(stalls[0][0])
    assert (folder / campaigns.SCENARIO_COPY).read_text() == "scenario: synthetic\n"


def test_programs_out_of_a_pack_run_only_when_a_user_has_said_so(original: Path, tmp_path: Path) -> None:
    theirs = copy(original, tmp_path / "theirs")
    campaign = read_campaign(theirs)
    work = {"pattern": "command", "client": {"command": ["rm", "-r", "everything"]}}
    cells = [
        one.model_copy(update={"settings": {**one.settings, "settings": {"workload": work}}}) for one in campaign.cells
    ]
    write_record(theirs / RECORD, campaign.model_copy(update={"cells": tuple(cells)}))
    folder = unpack(pack(theirs, tmp_path / "back"), tmp_path / "home").folder
    assert campaigns.latest_unfinished(tmp_path / "home") is None
    done = CliRunner().invoke(app, ["resume", str(folder)])
    assert done.exit_code != 0
    assert "'rm', '-r', 'everything'" in done.output.replace("\n", " ")
    (folder / FOREIGN).unlink()
    assert campaigns.latest_unfinished(tmp_path / "home") == folder


def test_a_trial_of_another_seed_is_refused(original: Path, tmp_path: Path) -> None:
    theirs = copy(original, tmp_path / "theirs")
    path = theirs / CELL / "trial-002"
    write_record(path / MANIFEST, Trial(path).manifest().model_copy(update={"seed": 7}))
    with pytest.raises(BadPack, match=r"trial-002/manifest\.json: its seed is 7, and campaign\.json plans \d+"):
        unpack(pack(theirs, tmp_path / "back"), tmp_path / "home")


def test_what_was_run_elsewhere_comes_back(original: Path, packed: Path, tmp_path: Path) -> None:
    away = unpack(packed, tmp_path / "away").folder
    new = copy_of_trial(original / CELL / "trial-003")
    manifest = Trial(original / CELL / "trial-003").manifest()
    new.rename(away / CELL / "trial-004")
    write_record(away / CELL / "trial-004" / MANIFEST, manifest.model_copy(update={"trial": 4, "seed": 104}))
    home = copy(original, tmp_path / "home")
    before = files(home)
    found = unpack(pack(away, tmp_path / "back"), tmp_path / "home")
    assert (found.added, found.kept) == (1, 8)
    assert {name: data for name, data in files(home).items() if f"{CELL}/trial-004" not in name} == before
    assert Trial(home / CELL / "trial-004").manifest().seed == 104
    again = unpack(tmp_path / "back", tmp_path / "home")
    assert (again.added, again.kept) == (0, 9)


def test_two_runs_of_one_trial_are_refused_by_name_and_nothing_is_written(
    original: Path, packed: Path, tmp_path: Path
) -> None:
    home = copy(original, tmp_path)
    shutil.rmtree(home / CELL / "trial-001")
    path = home / CELL / "trial-002" / MANIFEST
    write_record(path, Trial(path.parent).manifest().model_copy(update={"seed": 7}))
    before = files(home)
    with pytest.raises(CampaignError, match=f"{CELL}/trial-002: this trial and the pack's are two different runs"):
        unpack(packed, tmp_path)
    assert files(home) == before
    assert sorted(os.listdir(tmp_path)) == ["synthetic"]


@pytest.mark.parametrize("grown_here", [True, False])
def test_a_campaign_that_was_given_more_trials_is_the_same_one(
    original: Path, packed: Path, tmp_path: Path, grown_here: bool
) -> None:
    home = copy(original, tmp_path)
    order = read_campaign(home).order
    more = tuple(one.model_copy(update={"trial": one.trial + 5}) for one in order[:2])
    if grown_here:
        campaigns.extend(home, more)
    else:  # the pack has more than was here
        write_record(home / RECORD, read_campaign(home).model_copy(update={"order": order[:-1]}))
    unpack(packed, tmp_path)
    assert read_campaign(home).order == ((*order, *more) if grown_here else order)
    write_record(home / RECORD, read_campaign(home).model_copy(update={"order": order[::-1]}))
    with pytest.raises(CampaignError, match="another campaign has this place"):
        unpack(packed, tmp_path)


def test_one_that_was_given_more_trials_and_ran_another_one_otherwise_is_refused_and_stays_as_it_was(
    original: Path, packed: Path, tmp_path: Path
) -> None:
    home = copy(original, tmp_path)
    order = read_campaign(home).order
    write_record(home / RECORD, read_campaign(home).model_copy(update={"order": order[:-1]}))
    path = home / CELL / "trial-002" / MANIFEST
    write_record(path, Trial(path.parent).manifest().model_copy(update={"seed": 7}))
    before = files(home)
    with pytest.raises(CampaignError, match=f"{CELL}/trial-002: this trial and the pack's are two different runs"):
        unpack(packed, tmp_path)
    assert files(home) == before


def test_another_campaign_in_its_place_is_refused(original: Path, packed: Path, tmp_path: Path) -> None:
    home = copy(original, tmp_path)
    write_record(home / RECORD, read_campaign(home).model_copy(update={"digest": "e" * 64}))
    with pytest.raises(CampaignError, match=r"another campaign has this place .*digest eeeeeeee.*--results"):
        unpack(packed, tmp_path)
    (home / RECORD).write_text("{")
    with pytest.raises(CampaignError, match="mend it, or unpack below another folder"):
        unpack(packed, tmp_path)


@pytest.mark.parametrize("name", ["../../outside", "/outside", "a/b", "..", ".hidden"])
def test_a_cell_that_would_be_run_outside_the_campaign_is_refused(original: Path, tmp_path: Path, name: str) -> None:
    hostile = copy(original, tmp_path / "hostile")
    campaign = read_campaign(hostile)
    order = (campaign.order[0].model_copy(update={"cell": name}), *campaign.order[1:])
    write_record(hostile / RECORD, campaign.model_copy(update={"order": order}))
    with pytest.raises(BadPack, match="is no name for a cell"):
        unpack(pack(hostile, tmp_path / "pack"), tmp_path / "results")
    assert list((tmp_path / "results").iterdir()) == []


def test_trials_of_no_cell_or_planned_twice_are_refused(original: Path, tmp_path: Path) -> None:
    hostile = copy(original, tmp_path / "hostile")
    campaign = read_campaign(hostile)
    first, second, *more = campaign.order
    for order, words in (
        ((first.model_copy(update={"cell": "another"}), second, *more), "trials of 'another', which is none of its"),
        ((first, first, *more), "it plans a trial twice"),
    ):
        write_record(hostile / RECORD, campaign.model_copy(update={"order": order}))
        with pytest.raises(BadPack, match=words):
            unpack(pack(hostile, tmp_path / "pack"), tmp_path / "results")
        (tmp_path / "pack").unlink()
    assert list((tmp_path / "results").iterdir()) == []


def test_a_capture_outside_its_trial_is_refused(original: Path, tmp_path: Path) -> None:
    hostile = copy(original, tmp_path / "hostile")
    trial = Trial(hostile / CELL / "trial-001")
    captures = tuple(one.model_copy(update={"file": "../x.pcap"}) for one in trial.manifest().captures)
    write_record(trial.path / MANIFEST, trial.manifest().model_copy(update={"captures": captures}))
    with pytest.raises(DamagedTrial, match=r"'../x\.pcap' is no name for a capture"):
        pack(hostile, tmp_path / "pack")


def test_a_link_in_its_place_is_not_followed(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "results" / "synthetic").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "results" / "synthetic" / NAME).symlink_to(tmp_path / "outside")
    with pytest.raises(CampaignError, match="something other than a campaign's folder"):
        unpack(packed, tmp_path / "results")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_campaign_that_is_being_run_is_left_alone(original: Path, packed: Path, tmp_path: Path) -> None:
    home = copy(original, tmp_path)
    with owned(home), pytest.raises(CampaignError, match="another command is running this campaign"):
        unpack(packed, tmp_path)


def test_latest_is_the_newest_campaign_whatever_was_unpacked_last(packed: Path, tmp_path: Path) -> None:
    link = tmp_path / "synthetic" / "latest"
    unpack(packed, tmp_path)
    assert os.readlink(link) == NAME
    later = write_campaign(tmp_path / "other", Spec(**SMALL, trials=1, name=LATER))
    unpack(pack(later, tmp_path / "later"), tmp_path)
    assert os.readlink(link) == LATER
    shutil.rmtree(tmp_path / "synthetic" / NAME)
    unpack(packed, tmp_path)
    assert os.readlink(link) == LATER


def test_a_flipped_byte_anywhere_is_refused_and_leaves_nothing(packed: Path, tmp_path: Path) -> None:
    whole, chance = packed.read_bytes(), random.Random(20)
    path, root = tmp_path / "flipped", tmp_path / "results"
    for _ in range(300):
        at, bit = chance.randrange(len(whole)), 1 << chance.randrange(8)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        with pytest.raises(BadPack, match="flipped: "):
            unpack(path, root)
        assert list(root.iterdir()) == []


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_pack_that_ends_early_is_told_in_one_line_and_leaves_nothing(
    packed: Path, tmp_path: Path, share: float
) -> None:
    whole = packed.read_bytes()
    (tmp_path / "cut").write_bytes(whole[: int(len(whole) * share)])
    done = CliRunner().invoke(app, ["unpack", str(tmp_path / "cut"), "--results", str(tmp_path / "results")])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"{tmp_path / 'cut'}: it ends early\n"
    assert list((tmp_path / "results").iterdir()) == []


def test_a_pack_that_is_not_there_is_a_wrong_command(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["unpack", "nowhere", "--results", str(tmp_path)])
    assert (done.exit_code, done.stderr) == (2, "nowhere: there is no such file\n")


def test_what_a_killed_unpack_left_goes_with_the_next_command(original: Path, tmp_path: Path) -> None:
    """It is killed while it waits for the rest of its pack, which is a pipe."""
    whole = pack(original, tmp_path / "pack", ledgers=True).read_bytes()
    os.mkfifo(tmp_path / "pipe")
    root = tmp_path / "results"
    program = (
        "from experiments.campaign.unpack import unpack; import sys, pathlib; unpack(*map(pathlib.Path, sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "pipe"), str(root)]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    try:
        with (tmp_path / "pipe").open("wb") as pipe:
            pipe.write(whole[: len(whole) // 2])
            pipe.flush()
            deadline = time.monotonic() + 60
            while not list(root.glob("*/new/campaign/*")) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert list(root.glob("*/new/campaign/*"))
            (staged,) = root.iterdir()
            assert campaigns.folders(root) == []
            campaigns.sweep(root)
            assert staged.is_dir()  # its owner lives
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert staged.is_dir()
    assert CliRunner().invoke(app, ["list", "--results", str(root)]).exit_code == 0
    assert list(root.iterdir()) == []
