"""What a user types, and what it answers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from lab_command import lab
from lab_kernels import PANICS, faulty

from emulation import labkernel
from emulation.labkernel import Boot, Outcome
from emulation.link import features
from emulation.plan.stages import LINE, Feature
from emulation.profile import library
from experiments.workers.kernels import Kernels
from lab.common import Status
from lab.doctor import examine

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
NOBODY = 65534


def test_help_names_every_verb_and_the_exit_statuses() -> None:
    command = [sys.executable, "-m", "lab", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=True).stdout
    verbs = [
        "run",
        "resume",
        "report",
        "compare",
        "analyse",
        "export",
        "sql",
        "pack",
        "unpack",
        "publish",
        "list",
        "reductions",
        "paper",
        "replay",
        "shell",
        "profiles",
        "conform",
        "stacks",
        "calibrate",
        "doctor",
    ]
    for word in (*verbs, "calibrate", "doctor", "Exit status", "4 the time of --for is up"):
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


@pytest.mark.root
def test_a_profile_that_tc_cannot_do_here_is_refused_before_anything_starts(tmp_path: Path) -> None:
    if not features.probe()[Feature.NETEM]:
        pytest.skip("this kernel has netem, so nothing is refused")
    far = FIXTURES / "scenario-needs-netem" / "scenario.yaml"
    done = lab("run", far, "--results", tmp_path, "--kernel", "host", "--medium", "tc")
    assert done.returncode == 1
    assert "no netem, which profile 'far-away' needs for uplink delay" in done.stderr
    assert "sch_netem" in done.stderr
    assert "run with --kernel lab" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.root
def test_an_ordinary_user_is_told_what_root_is_needed_for(tmp_path: Path) -> None:
    scenario = FIXTURES / "not-root" / "scenario.yaml"
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as temporary:
        results = Path(name)
        for folder in (results, Path(temporary)):
            folder.chmod(0o777)
        done = as_nobody("run", scenario, "--results", name, TMPDIR=temporary)
        assert done.returncode == 1, done.stderr
        assert "for root only" in done.stderr
        assert "the lab kernel (6.1" in done.stderr
        assert "can shape 50 Mbit/s at most" in done.stderr
        assert list(results.iterdir()) == []


def as_nobody(*words: str | Path, **extra: str) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.argv = {['lab', *map(str, words)]!r}; from lab.main import main; main()"
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    command = [*user, sys.executable, "-c", program]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False, env=os.environ | extra
    )


def test_an_unknown_kernel_is_refused() -> None:
    done = lab("run", FIXTURES / "not-root" / "scenario.yaml", "--kernel", "other")
    assert (done.returncode, done.stderr) == (2, "--kernel: 'other' is not one of auto, host, lab\n")


@pytest.mark.labkernel
def test_profiles_says_what_each_link_needs_and_where_it_runs() -> None:
    done = lab("profiles")
    assert done.returncode == 0
    rows = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    assert set(rows) == set(library.names())
    assert "netem" in rows["geo-satellite"]
    assert " host " in rows["nistnet-80211"]


def test_without_a_campaign_every_verb_says_what_makes_one(tmp_path: Path) -> None:
    assert "lab run SCENARIO" in lab("list", "--results", tmp_path).stdout
    for verb in ("resume", "report"):
        done = lab(verb, "--results", tmp_path)
        assert done.returncode == 1
        assert "campaign" in done.stderr
    done = lab("report", "no-such", "--results", tmp_path)
    assert (done.returncode, "no campaign 'no-such'" in done.stderr) == (2, True)


@pytest.mark.labkernel
def test_doctor_finds_this_machine_fit_and_lists_the_profiles() -> None:
    done = lab("doctor")
    everything = "not at all         no link profile" in done.stdout
    assert done.returncode == (0 if everything else 3), done.stdout
    for word in ("nft_bridge", "netem", "tcpdump", "wireline-100m", "nistnet-80211"):
        assert word in done.stdout
    (nowhere,) = [line for line in done.stdout.splitlines() if line.startswith("not at all")]
    assert not {"nistnet-80211", "wireline-100m"} & set(nowhere.replace(",", " ").split())


@pytest.mark.labkernel
def test_doctor_names_what_is_missing_with_its_cure() -> None:
    done = lab("doctor", env={**os.environ, "PATH": str(Path(sys.executable).parent)})
    assert done.returncode == 1
    assert "apt-get install tcpdump" in done.stdout


@pytest.fixture
def no_boot(tmp_path: Path) -> dict[str, str]:
    """An environment in which the lab kernel panics at once, as it does without its shim on a processor with AMX."""
    if why := labkernel.problem():
        pytest.skip(why)
    return {**os.environ, **faulty(tmp_path / "bin", *PANICS)}


PANIC = "kernel panic: Attempted to kill init! exitcode=0x0000000b, after: userspace - ptrace set fp regs failed"


@pytest.mark.labkernel
def test_doctor_boots_the_lab_kernel_and_tells_its_last_words(no_boot: dict[str, str]) -> None:
    done = lab("doctor", env=no_boot)
    assert done.returncode == 3
    row = next(line for line in done.stdout.splitlines() if f"lab kernel {labkernel.release()}" in line)
    assert row.split()[-5:] == ["does", "not", "boot", "see", "below"]
    assert PANIC in done.stdout.replace("\n", " ")
    assert "make setup builds the shim" in done.stdout
    assert "  Kernel panic - not syncing: Attempted to kill init!" in done.stdout
    assert "in the lab kernel  no link profile" in done.stdout


@pytest.mark.skipif(bool(os.geteuid()), reason="an ordinary user's profiles all need the lab kernel")
@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.BOOTS, Status.ALL_VALID),
        (Outcome.FAILS, Status.NOT_ALL_VALID),
        (Outcome.UNTRIED, Status.NOT_ALL_VALID),
        (Outcome.ABSENT, Status.ALL_VALID),
    ],
)
def test_doctors_status_tells_of_a_lab_kernel_that_fails_although_nothing_needs_it(
    outcome: Outcome, status: Status
) -> None:
    kernels = Kernels()
    why = "" if outcome is Outcome.BOOTS else "[a reason]"
    kernels.__dict__.update({"host_features": dict.fromkeys(Feature, ""), "lab": Boot(outcome, why)})
    assert examine(kernels) is status


@pytest.mark.labkernel
def test_a_lab_kernel_that_does_not_boot_is_no_place_for_a_profile(no_boot: dict[str, str], tmp_path: Path) -> None:
    scenario, results = FIXTURES / "scenario-needs-netem" / "scenario.yaml", tmp_path / "results"
    done = lab("run", scenario, "--results", results, "--kernel", "lab", env=no_boot)
    assert (done.returncode, PANIC in done.stderr) == (1, True)
    assert not results.exists()
    if not features.probe()[Feature.NETEM]:
        pytest.skip("this kernel has netem, so `auto` does not ask the lab kernel")
    done = lab("run", scenario, "--results", results, "--kernel", "auto", "--medium", "tc", env=no_boot)
    assert (done.returncode, PANIC in done.stderr) == (1, True)
    done = lab("profiles", env=no_boot)
    by_line = not any(features.probe()[feature] for feature in LINE)
    row = next(line for line in done.stdout.splitlines() if line.startswith("geo-satellite"))
    assert ("nowhere here" in row) != by_line
    assert (PANIC in done.stderr) != by_line, "it is not asked where everything runs without it"


def test_make_help_lists_every_target() -> None:
    said = subprocess.run(["make", "help"], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    targets = ("experiment", "test", "lint", "doctor", "report", "compare", "clean", "resume", "list", "bench", "setup")
    for target in targets:
        assert f"make {target} " in said
