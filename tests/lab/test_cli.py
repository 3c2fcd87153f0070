"""What a user types, and what it answers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from emulation import features
from emulation.stages import Feature

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
NOBODY = 65534


def lab(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lab", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_help_names_every_verb_and_the_exit_statuses() -> None:
    said = lab("--help").stdout
    for word in ("run", "resume", "report", "list", "doctor", "Exit status"):
        assert word in said


@pytest.mark.parametrize(
    "folder", sorted(path.name for path in FIXTURES.glob("scenario-*") if "netem" not in path.name)
)
def test_a_bad_scenario_ends_with_status_2_a_message_and_no_folder(folder: str, tmp_path: Path) -> None:
    done = lab("run", FIXTURES / folder / "scenario.yaml", "--results", tmp_path)
    assert done.returncode == 2
    assert "scenario.yaml" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_scenario_that_is_not_there_ends_with_status_2(tmp_path: Path) -> None:
    done = lab("run", "nowhere.yaml", "--results", tmp_path)
    assert (done.returncode, done.stderr) == (2, "nowhere.yaml: No such file or directory\n")


def test_a_profile_that_this_kernel_cannot_do_is_refused_before_anything_starts(tmp_path: Path) -> None:
    if not features.probe()[Feature.NETEM]:
        pytest.skip("this kernel has netem, so nothing is refused")
    done = lab("run", FIXTURES / "scenario-needs-netem" / "scenario.yaml", "--results", tmp_path)
    assert done.returncode == 1
    assert "no netem, which profile 'far-away' needs for uplink delay" in done.stderr
    assert "sch_netem" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_ordinary_user_is_told_what_root_is_needed_for() -> None:
    scenario = FIXTURES / "not-root" / "scenario.yaml"
    with tempfile.TemporaryDirectory() as name:
        results = Path(name)
        results.chmod(0o777)
        words = ["lab", "run", str(scenario), "--results", name]
        program = f"import sys; sys.argv = {words!r}; from lab.main import main; main()"
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        command = [*as_nobody, sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        assert done.returncode == 1, done.stderr
        assert "needs root" in done.stderr
        assert list(results.iterdir()) == []


def test_without_a_campaign_every_verb_says_what_makes_one(tmp_path: Path) -> None:
    assert "lab run SCENARIO" in lab("list", "--results", tmp_path).stdout
    for verb in ("resume", "report"):
        done = lab(verb, "--results", tmp_path)
        assert done.returncode == 1
        assert "campaign" in done.stderr
    done = lab("report", "no-such", "--results", tmp_path)
    assert (done.returncode, "no campaign 'no-such'" in done.stderr) == (1, True)


def test_doctor_finds_this_machine_fit_and_lists_the_profiles() -> None:
    done = lab("doctor")
    assert done.returncode == 0, done.stdout
    for word in ("nft_bridge", "netem", "tcpdump", "wireline-100m", "nistnet-80211"):
        assert word in done.stdout


def test_doctor_names_what_is_missing_with_its_cure() -> None:
    done = lab("doctor", env={**os.environ, "PATH": str(Path(sys.executable).parent)})
    assert done.returncode == 1
    assert "apt-get install tcpdump" in done.stdout


def test_make_help_lists_every_target() -> None:
    said = subprocess.run(["make", "help"], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    for target in ("experiment", "test", "lint", "doctor", "report", "clean", "resume", "list", "bench", "setup"):
        assert f"make {target} " in said
