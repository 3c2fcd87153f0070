"""A full disk: whichever process meets it first, the user reads so, with the folder, and nothing half-written stays."""

from __future__ import annotations

import errno
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from lab_runs import FIXTURES, ROOT, command, lab, scenario_file
from origin import origin

from experiments.campaign import campaign as campaigns
from experiments.campaign import launch, runner
from experiments.campaign.launch import Outcome
from experiments.scenario import scenario as scenarios
from experiments.trial.observers.diskspace import Space, naming
from experiments.workers.worker import Workers
from records.campaign import read_campaign
from records.store import TrialWriter, trials

pytestmark = [pytest.mark.root, pytest.mark.broker]

WORDS = "No space left on device"
FULL = ("run", FIXTURES / "disk-full" / "scenario.yaml", "--no-report")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, whose size a test sets."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def resize(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{size}", str(disk)], check=True)


def fill(folder: Path) -> Path:
    """Take all that is left; the file that does."""
    path = folder / "filler"
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * (1 << 16))
    return path


def assert_told(done: subprocess.CompletedProcess[str], results: Path) -> None:
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    (line, *_) = [line for line in said.splitlines() if WORDS in line]
    assert str(results) in line, said
    assert "Traceback" not in done.stderr
    for folder in campaigns.folders(results):
        assert trials(folder) == []
        assert not list(folder.glob("*/.partial-*"))


@pytest.mark.parametrize("kib", [4, 32, 300])
def test_a_full_disk_is_told_and_nothing_half_written_looks_finished(disk: Path, kib: int) -> None:
    """The less room there is, the earlier it is met: by the campaign's record, its log, Ansible, a capture, a table."""
    resize(disk, f"size={kib}k")
    assert_told(lab(*FULL, "--low-disk", results=disk), disk)


def test_a_disk_that_is_too_small_is_told_before_anything_starts(disk: Path) -> None:
    resize(disk, "size=300k")
    told = lab(*FULL, results=disk)
    assert told.returncode == 1, told.stdout
    assert f"{disk}: 1 trial may need " in told.stderr
    assert list(disk.iterdir()) == []


@pytest.mark.parametrize("files", [4, 12])
def test_a_disk_that_takes_no_more_files_is_full(disk: Path, files: int) -> None:
    resize(disk, f"nr_inodes={files}")
    assert_told(lab(*FULL, "--low-disk", results=disk), disk)


@pytest.mark.parametrize(
    "settings",
    [
        {"stack": "reference"},
        {
            "stack": "activemq-openwire",
            "workload": {
                "clients": {"publishers": 2, "subscribers": 4, "topics": 2},
                "body_bytes": 2000,
                "guarantee": {"subscription": "durable", "delivery": "persistent"},
            },
        },
    ],
    ids=lambda settings: settings["stack"],
)
def test_a_disk_that_fills_up_under_load_fails_the_trial(
    disk: Path, settings: dict[str, object], tmp_path: Path
) -> None:
    resize(disk, "size=200m")
    scenario = scenario_file(tmp_path, **settings)
    words = command("run", scenario, "--no-report", "--low-disk", results=disk)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        deadline = time.monotonic() + 200
        while not list(disk.glob("*/2*/*/.partial-*/*.pcap")):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        fill(disk)
        said, complaints = process.communicate(timeout=200)
    assert_told(subprocess.CompletedProcess(words, process.returncode, said, complaints), disk)


def test_a_campaign_whose_record_does_not_fit_leaves_no_folder(disk: Path, tmp_path: Path) -> None:
    scenario = scenarios.load(scenario_file(tmp_path))
    fill(disk)
    with pytest.raises(OSError, match=WORDS) as caught:
        campaigns.create(scenario, disk / "results")
    assert str(disk) in str(caught.value.filename)
    assert list((disk / "results").glob("*/*")) == []


def outcome_of(disk: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> tuple[Outcome, TrialWriter]:
    """A trial whose process is this program; `folder` is the trial's, unfinished."""
    folder = campaigns.create(scenarios.load(scenario_file(disk)), disk / "results")
    campaign = read_campaign(folder)
    planned = campaign.order[0]
    writer = TrialWriter(folder, planned.cell, planned.trial)
    given = f"import json, os, pathlib, signal, sys\nfolder = pathlib.Path({str(writer.path)!r})\nos.makedirs(folder)\n"
    monkeypatch.setattr(launch, "command", lambda *_, **__: [sys.executable, "-c", given + program])
    spec = runner.spec(folder, campaign, campaign.cells[0], planned, origin())
    way = launch.Way(
        kernel="host", planned=planned, log=folder / "log", phase=lambda *_: None, limit_s=launch.limit(spec, "host")
    )
    return launch.run_one(spec, way, Workers()), writer


FILL = """
file = (folder / "captured").open("wb", buffering=0)
try:
    while True:
        file.write(b"x" * 65536)
except OSError:
    pass
"""
FINISHED = """
os.rename(folder, folder.with_name(folder.name.removeprefix(".partial-")))
print(json.dumps({"event": "finished", "state": "%s", "reasons": ["servers_alive failed"]}), flush=True)
"""


@pytest.mark.parametrize(
    ("end", "also"),
    [
        ("os.kill(os.getpid(), signal.SIGBUS)", "SIGBUS"),
        ("sys.exit(1)", "status 1"),
        ("print(json.dumps({'event': 'failed', 'kind': 'DeployError', 'message': 'no reason'}))", "no reason"),
        (FINISHED % "invalid", "servers_alive failed"),
        (FINISHED % "inconclusive", "servers_alive failed"),
    ],
)
def test_a_trial_whose_own_words_do_not_tell_failed_for_the_full_disk(
    disk: Path, monkeypatch: pytest.MonkeyPatch, end: str, also: str
) -> None:
    outcome, writer = outcome_of(disk, monkeypatch, FILL + end)
    assert outcome.state == "failed"
    assert outcome.reasons[0].startswith(f"{WORDS}: ")
    assert str(writer.final.parent.parent) in outcome.reasons[0]
    assert also in outcome.reasons[1]
    assert not writer.path.exists()
    assert not writer.final.exists()


def test_a_trial_that_is_valid_stands_however_full_the_disk(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, writer = outcome_of(disk, monkeypatch, FILL + FINISHED % "valid")
    assert outcome.state == "valid"
    assert writer.final.is_dir()


def test_with_room_left_nothing_is_said_of_the_disk(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, _ = outcome_of(disk, monkeypatch, "os.kill(os.getpid(), signal.SIGBUS)")
    assert outcome.state == "failed"
    assert WORDS not in " ".join(outcome.reasons)


def test_a_disk_that_was_full_for_a_moment_is_remembered(disk: Path) -> None:
    space = Space(disk)
    space.look()
    assert space.explain(["it broke"]) == ()
    filler = fill(disk)
    space.look()
    filler.unlink()
    space.look()
    assert space.explain(["it broke"]) == (f"{WORDS}: 0 bytes were free where {disk} is", "it broke")


@pytest.mark.parametrize("words", [WORDS, "Disk quota exceeded"])
def test_words_that_were_said_are_kept_and_get_the_folder(disk: Path, words: str) -> None:
    space = Space(disk)
    explained = (f"{words}, maybe where {disk} is", f"[Errno 1] {words}")
    assert space.explain([f"[Errno 1] {words}"]) == explained
    assert space.explain(explained) == explained


@pytest.mark.parametrize(
    ("number", "named"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EIO, False)], ids=errno.errorcode.get
)
def test_an_error_of_writing_gets_the_folder_when_the_disk_is_full(tmp_path: Path, number: int, *, named: bool) -> None:
    with pytest.raises(OSError, match="said") as caught, naming(tmp_path):
        raise OSError(number, "said")
    assert caught.value.filename == (str(tmp_path) if named else None)
