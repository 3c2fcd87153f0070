"""`lab pack`: one small file, written whole or not at all, and put back by `lab unpack`."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from lab_command import lab
from object_store import ObjectStore
from packs import copy
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner, Result

from analysis.looked import Looked
from analysis.reductions import kept
from analysis.spark.errors import SparkFailed
from analysis.trial import reduce_trial
from experiments.campaign.campaign import owned
from lab.main import app
from records.filenames import MANIFEST

pytestmark = pytest.mark.spark

SMALL = {"bodies": (100,), "guarantees": ("durable, persistent",), "packets": 5, "trials": 2}
CELL = "nistnet-80211_100_dp"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_campaign(tmp_path_factory.mktemp("original"), Spec(**SMALL))


def test_a_campaign_goes_into_a_file_and_comes_out_of_it(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    packed = CliRunner().invoke(app, ["pack", str(original)])
    assert (packed.exit_code, packed.stderr) == (0, "")
    name = "synthetic-c1.airwire.tar.xz"
    assert os.listdir(tmp_path) == [name]
    assert "4 trials of" in packed.stdout
    assert "not in the pack: 16 files, " in packed.stdout
    assert f"pack: {name}, " in packed.stdout

    done = lab("unpack", name, "--results", "results", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "campaign results/synthetic/c1: 4 trials added" in done.stdout
    assert "only where it was packed: 16 files, " in done.stdout

    # Packed already, so nothing is reduced.
    done = lab("pack", "--results", "results", "--out", "again", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "again").read_bytes() == (tmp_path / name).read_bytes()
    assert "4 valid; 4 out of a pack" in lab("list", "--results", "results", cwd=tmp_path).stdout


def test_a_pack_goes_to_a_store_and_comes_from_there(
    original: Path, store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed(original, tmp_path / "here")
    for target in ("lab/packs/", "lab/packs/of another name"):
        done = CliRunner().invoke(app, ["pack", str(original), "--out", store.uri(target)])
        assert done.exit_code == 0, done.stderr
        assert f"pack: {store.uri(target).replace('packs/?', 'packs/synthetic-c1.airwire.tar.xz?')}, " in done.stdout
    assert store.under("lab/packs") == dict.fromkeys(
        ("synthetic-c1.airwire.tar.xz", "of another name"), (tmp_path / "here").read_bytes()
    )

    def unpack(name: str) -> Result:
        return CliRunner().invoke(
            app, ["unpack", store.uri(f"lab/packs/{name}"), "--results", str(tmp_path / "results")]
        )

    done = unpack("of another name")
    assert done.exit_code == 0, done.stderr
    assert "4 trials added" in done.stdout
    nowhere = unpack("nowhere")
    assert (nowhere.exit_code, "there is no such file" in nowhere.stderr) == (2, True)
    store.objects["lab/packs/cut"] = (tmp_path / "here").read_bytes()[:-9]
    cut = unpack("cut")
    assert (cut.exit_code, "/cut: " in cut.stderr) == (1, True), cut.stderr
    monkeypatch.setattr("lab.unpack.MOST_PACKED", 1000)
    large = unpack("cut")
    assert (large.exit_code, "more than a pack may have (1 kB)" in large.stderr) == (1, True), large.stderr


def test_trials_whose_reductions_are_kept_are_not_reduced_for_a_pack(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = unreduced(original, tmp_path), list[str]()

    def counted(path: Path, number: int, looked: Looked | None = None) -> pa.RecordBatch:
        made.append(f"{path.parent.name}/{path.name}")
        return reduce_trial(path, number, looked)

    monkeypatch.setattr(kept, "reduce_trial", counted)
    packed(folder, tmp_path / "first")
    assert len(made) == 4
    record = folder / CELL / "trial-001" / "verdict.json"
    record.write_text(record.read_text() + "\n")
    packed(folder, tmp_path / "changed")
    assert made[4:] == [f"{CELL}/trial-001"]
    for name in ("of kept ones", "of none"):
        packed(folder, tmp_path / name)
        shutil.rmtree(folder / kept.FOLDER)
    assert (tmp_path / "of none").read_bytes() == (tmp_path / "of kept ones").read_bytes()


def unreduced(campaign: Path, root: Path) -> Path:
    """A copy below `root`, of which no reduction is kept."""
    folder = copy(campaign, root)
    shutil.rmtree(folder / kept.FOLDER, ignore_errors=True)
    return folder


def packed(campaign: Path, to: Path) -> None:
    assert CliRunner().invoke(app, ["pack", str(campaign), "--out", str(to)]).exit_code == 0


def refused(campaign: Path | str, tmp_path: Path, *words: str, status: int = 1) -> str:
    """What is said of a campaign that cannot be packed, for which no file may be left."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "older").write_bytes(b"older")
    done = CliRunner().invoke(app, ["pack", str(campaign), "--out", str(out / "older"), *words])
    assert (done.exit_code, done.stdout) == (status, "")
    assert os.listdir(out) == ["older"]
    assert (out / "older").read_bytes() == b"older"
    return done.stderr


def test_a_trial_that_cannot_be_read_is_named(original: Path, tmp_path: Path) -> None:
    folder = copy(original, tmp_path)
    (folder / CELL / "trial-001" / MANIFEST).write_text("{")
    assert f"{CELL}/trial-001/{MANIFEST}" in refused(folder, tmp_path)


def test_when_the_trials_cannot_be_reduced_there_is_a_message_and_no_file(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(**_: object) -> None:
        raise SparkFailed("no Java here")

    monkeypatch.setenv("SPARK_REMOTE", "sc://a-server-that-has-to-reduce")
    monkeypatch.setattr("analysis.spark.session.session", fails)
    assert refused(unreduced(original, tmp_path), tmp_path) == "nothing was packed: no Java here\n"


def test_a_campaign_that_is_being_run_is_not_packed(original: Path, tmp_path: Path) -> None:
    with owned(original):
        assert "another command is running this campaign" in refused(original, tmp_path)


def test_what_is_no_campaign_or_has_no_trial_is_told(original: Path, tmp_path: Path) -> None:
    told = refused(original.parent, tmp_path / _made(tmp_path, "a"), status=2)
    assert "no campaign (there is no campaign.json in it)" in told
    empty = write_campaign(tmp_path, Spec(**SMALL | {"trials": 0}))
    assert "no trial is finished" in refused(empty, tmp_path / _made(tmp_path, "b"))


def test_a_place_that_is_not_there_is_told(original: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["pack", str(original), "--out", str(tmp_path / "no" / "pack")])
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"{tmp_path / 'no'}" in done.stderr


def test_what_is_no_file_stays_so_and_a_folder_that_is_not_there_is_made(original: Path, tmp_path: Path) -> None:
    there, link, pipe, got = tmp_path / "there", tmp_path / "link", tmp_path / "pipe", []
    link.symlink_to(there)
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    for to in (link, pipe, "/dev/null", f"{tmp_path}/packs/"):
        done = CliRunner().invoke(app, ["pack", str(original), "--out", str(to)])
        assert (done.exit_code, done.stderr) == (0, "")
    reader.join(60)
    assert (link.is_symlink(), pipe.is_fifo(), Path("/dev/null").is_char_device()) == (True, True, True)
    assert [there.read_bytes()] == got == [(tmp_path / "packs" / "synthetic-c1.airwire.tar.xz").read_bytes()]


def _made(place: Path, name: str) -> str:
    (place / name).mkdir()
    return name
