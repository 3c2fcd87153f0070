"""The same trials in the lab kernel: valid, interrupted, as an ordinary user, and under the same losses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from lab_runs import ROOT, assert_sound, command, lab, only_trial, scenario_file, traces

from records.store import Trial

pytestmark = [pytest.mark.root, pytest.mark.broker, pytest.mark.labkernel]

NOBODY = 65534
LONG = {"warmup_s": 0.3, "window_s": 120, "drain_s": 3}  # still under way when it is interrupted
LOSSY = {
    "name": "lossy",
    "description": "for tests",
    "source": "made for tests",
    "medium": "shared",
    "rate": "2 Mbit/s",
    "loss": {"model": "gilbert-elliott", "p": 0.02, "r": 0.3},
}
FAR = {"name": "far", "delay": "30 ms", "jitter": "5 ms", "duplicate": "2 %"}


def scenario(folder: Path, profile: dict[str, object], **settings: object) -> Path:
    path = folder / "link.yaml"
    path.write_text(yaml.safe_dump(profile))
    return scenario_file(folder, network="link.yaml", **settings)


@pytest.fixture(scope="module")
def public() -> Iterator[Path]:
    """A folder that an ordinary user reaches and may write to; pytest's own are private."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, public: Path) -> dict[str, Trial]:
    """Trials with the same losses: by root on this machine's own kernel, by an ordinary user in the lab kernel."""
    folder = tmp_path_factory.mktemp("host")
    done = lab("run", scenario(folder, LOSSY), "--no-report", "--kernel", "host", results=folder / "results")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    words = command("run", scenario(public, LOSSY | FAR), "--no-report", results=public / "results")
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    program = f"import sys; sys.argv = ['lab', *{words[3:]!r}]; from lab.main import main; main()"
    done = subprocess.run(
        [*user, sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"HOME": "/nonexistent"},
        timeout=900,
        check=False,
    )
    assert done.returncode in (0, 3), done.stdout + done.stderr
    return {"host": only_trial(folder / "results"), "lab": only_trial(public / "results")}


def test_a_trial_in_the_lab_kernel_is_valid_and_says_where_it_ran(both: dict[str, Trial]) -> None:
    manifest = both["lab"].manifest()
    assert_sound(both["lab"].verdict())
    assert manifest.kernel.chosen == "lab"
    assert manifest.kernel.release.startswith("6.1")
    assert manifest.machine.cores == 1
    assert len(both["lab"].table("delivered")) > 0
    assert (both["lab"].path / "wired.pcap").stat().st_size > 1000


def test_the_same_seed_drops_the_same_packets_on_both_kernels(both: dict[str, Trial]) -> None:
    host, inside = (both[kernel].link() for kernel in ("host", "lab"))
    assert both["host"].manifest().kernel.chosen == "host"
    assert [one.sha256 for one in host.loss_lists] == [one.sha256 for one in inside.loss_lists]
    for kernel, proof in (("host", host), ("lab", inside)):
        assert len([check for check in proof.checks if check.quantity == "losses"]) == 2, "probes were sent each way"
        # No drop of the trial differs from the list: that is counted, and no stall of the machine excuses it.
        lost = [check for check in proof.checks if check.quantity == "loss"]
        assert len(lost) == 2
        assert all(check.holds for check in lost), (kernel, lost)
        assert any(counter.dropped for one in proof.counters if one.during == "trial" for counter in one.losses)


def test_a_replay_by_another_stack_has_the_same_losses(both: dict[str, Trial], tmp_path: Path) -> None:
    done = lab("replay", both["host"].path, "--stack", "activemq", "--no-report", results=tmp_path)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    again = only_trial(tmp_path)
    assert_sound(again.verdict())
    assert any(counter.dropped for one in again.link().counters if one.during == "trial" for counter in one.losses)
    assert [one.sha256 for one in again.link().loss_lists] == [one.sha256 for one in both["host"].link().loss_lists]
    assert again.manifest().seed == both["host"].manifest().seed
    assert again.manifest().stack == "activemq"


def test_a_replay_of_something_else_is_refused(both: dict[str, Trial], tmp_path: Path) -> None:
    done = lab("replay", tmp_path, results=tmp_path)
    assert (done.returncode, "not the folder of a finished trial" in done.stderr) == (1, True)
    done = lab("replay", both["host"].path, "--stack", "nosuch", results=tmp_path)
    assert (done.returncode, "stack 'nosuch' is not one of" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_lab_kernel_leaves_nothing(tmp_path: Path) -> None:
    before, results = traces(tmp_path), tmp_path / "results"
    words = command("run", scenario(tmp_path, LOSSY, window=LONG), "--no-report", "--kernel", "lab", results=results)
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    )
    deadline = time.monotonic() + 600
    while not list(results.glob("*/2*/*/.partial-*/.scratch/*")):  # the trial is at work in the guest
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert (process.returncode, "lab resume" in said) == (130, True)
    while traces(tmp_path) != before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert traces(tmp_path) == before
    assert not list(results.glob("*/2*/*/.partial-*"))


def test_an_ordinary_user_runs_a_link_with_delay(both: dict[str, Trial]) -> None:
    trial = both["lab"]
    assert trial.manifest().kernel.chosen == "lab"
    assert trial.path.stat().st_uid == NOBODY
    checks = {(one.quantity, one.direction): one for one in trial.link().checks if one.source == "probe"}
    assert [one.holds for one in trial.link().checks if one.quantity == "loss"] == [True, True]
    for direction in ("uplink", "downlink"):
        assert checks["duplicates", direction].delivered > 0
        assert checks["delay", direction].delivered > 0.029
