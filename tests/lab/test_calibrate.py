"""`lab calibrate`: a table and a plot of what links deliver, and a status that says whether they hold."""

from __future__ import annotations

import contextlib
import csv
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from lab_command import lab

from analysis.calibration import page, summary
from analysis.plots.calibration import calibration_plot
from emulation.link import features
from emulation.plan.stages import Feature
from emulation.profile import library
from experiments.tools.calibration import calibrate as calibrate_all
from experiments.tools.calibration import stations_needed
from experiments.workers.kernels import Kernels
from lab.calibrate import _status
from lab.common import Status
from records.calibration import COLUMNS, Calibrated, write_csv
from records.link import LinkCheck

ROOT = Path(__file__).parents[2]
WHERE = {"command": "lab calibrate", "revision": "1234567", "machine": "a test", "picture": "calibration.png"}


def calibrate(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return lab("calibrate", *words, timeout=600)


def check(quantity: str, asked: float, delivered: float, *, wide: float = 0.02, way: str = "uplink") -> LinkCheck:
    return LinkCheck.model_validate(
        {
            "quantity": quantity, "direction": way, "source": "probe", "asked": asked, "delivered": delivered,
            "low": asked * (1 - wide), "high": asked * (1 + wide),
        }
    )  # fmt: skip


def calibrated(*checks: LinkCheck, name: str = "made", kernel: str = "host") -> Calibrated:
    return Calibrated(profile=name, kernel=kernel, stations=("sta1",), checks=(checks,), tries=1)


GOOD = calibrated(check("rate", 1e6, 1.001e6), check("losses", 0, 0), check("loss", 0.03, 0.031, wide=0.3))
SLOW = calibrated(check("rate", 1e6, 0.9e6), check("delay", 0.02, 0.0201), name="slow", kernel="lab")
REFUSED = Calibrated(profile="far", kernel="host", refused="this kernel has no netem")


@pytest.mark.root
@pytest.mark.link
@pytest.mark.parametrize(("medium", "by"), [("tc", "host"), ("line", "line")])
def test_a_profile_is_measured_both_ways_and_written_down(tmp_path: Path, medium: str, by: str) -> None:
    done = calibrate("nistnet-80211", "--kernel", "host", "--medium", medium, "--out", tmp_path)
    assert done.returncode in (Status.ALL_VALID, Status.NOT_ALL_VALID), done.stdout + done.stderr
    with (tmp_path / "calibration.csv").open() as file:
        rows = list(csv.DictReader(file))
    wanted = {"delay", "rate", "reordered", "losses", "duplicates", "loss"}
    for direction in ("uplink", "downlink"):
        assert {row["quantity"] for row in rows if row["direction"] == direction} == wanted
    # On a noisy machine some may be outside; then the status, the line and the table say so alike.
    holds = {row["holds"] for row in rows} == {"True"}
    assert (done.returncode == Status.ALL_VALID) == holds
    assert {(row["kernel"], row["medium"]) for row in rows} == {("host", medium)}
    assert (f"nistnet-80211          {by}  holds" in done.stdout) == holds
    assert (f"nistnet-80211          {by}  OUTSIDE: " in done.stdout) != holds
    assert (tmp_path / "calibration.png").read_bytes()[:4] == b"\x89PNG"
    assert "nistnet-80211" in (tmp_path / "calibration.svg").read_text()
    assert f"--out {tmp_path}" in (tmp_path / "calibration.md").read_text()


@pytest.mark.root
def test_a_profile_that_no_wanted_kernel_can_do_is_listed_with_the_reason(tmp_path: Path) -> None:
    if not features.probe()[Feature.NETEM]:
        pytest.skip("this kernel has netem")
    done = calibrate("lte", "--kernel", "host", "--medium", "tc", "--out", tmp_path)
    assert done.returncode == 1
    assert "no netem, which profile 'lte' needs for uplink delay" in done.stdout
    assert "no netem" in (tmp_path / "calibration.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such"], "no link profile 'no-such'"),
        (["--kernel", "moon"], "'moon' is not one of"),
        (["no-such", "--seed", "-1"], "Invalid value for '--seed'"),
    ],
)
def test_a_wrong_command_ends_with_status_2(tmp_path: Path, words: list[str], message: str) -> None:
    done = calibrate(*words, "--out", tmp_path / "none")
    assert (done.returncode, message in done.stderr) == (2, True)
    assert not (tmp_path / "none").exists()


def test_the_status_says_whether_all_hold(tmp_path: Path) -> None:
    assert _status([GOOD, REFUSED], tmp_path) is Status.ALL_VALID
    assert _status([GOOD, SLOW], tmp_path) is Status.NOT_ALL_VALID


def test_the_table_has_a_line_for_each_quantity_and_one_for_what_was_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "found.csv", [GOOD, SLOW, REFUSED])
    with (tmp_path / "found.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [row["profile"] for row in rows] == ["made"] * 3 + ["slow"] * 2 + ["far"]
    assert [row["holds"] for row in rows] == ["True"] * 3 + ["False", "True", ""]
    assert rows[-1]["detail"] == "this kernel has no netem"


def test_the_page_says_what_is_outside_and_what_was_not_measured() -> None:
    text = page([GOOD, SLOW, REFUSED], **WHERE)
    assert "| slow | uplink | rate | 1 Mbit/s | 900 kbit/s | 980 kbit/s to 1.02 Mbit/s | **no** |" in text
    assert "| made | uplink | loss | 3 % | 3.1 % | 2.1 % to 3.9 % | yes |" in text
    assert "| far | host | tc | this kernel has no netem |" in text
    assert summary([GOOD, SLOW]) == "5 quantities of 2 profiles were measured, 1 outside what is tolerated."


def test_the_plot_names_every_profile_and_draws_nothing_outside_its_frame() -> None:
    far_off = calibrated(check("rate", 1e6, 9e7), check("delay", 0.02, float("inf")), name="far-off", kernel="lab")
    plot = calibration_plot([GOOD, SLOW, far_off])
    svg = plot.svg.decode()
    assert all(name in svg for name in ("made", "slow", "far-off", "one-way delay", "loss share"))
    assert "slow on lab" in plot.about


def test_the_media_of_one_kernel_are_kept_apart() -> None:
    both = [GOOD, GOOD.model_copy(update={"medium": "line"}), GOOD.model_copy(update={"kernel": "lab"})]
    headings = [line for line in page(both, **WHERE).splitlines() if line.startswith("## ")]
    assert headings == [
        "## On the machine's own kernel, by tc",
        "## On the machine's own kernel, by the line",
        "## On the lab kernel, by tc",
    ]
    assert calibration_plot(both).about.startswith("1 profiles on host, line, lab; ")


@pytest.mark.parametrize(
    ("wanted", "medium", "places"),
    [
        ("both", "auto", [("host", "tc"), ("lab", "tc")]),
        ("both", "both", [("host", "tc"), ("host", "line"), ("lab", "tc")]),
        ("both", "line", [("host", "line")]),
        ("host", "tc", [("host", "tc")]),
        ("auto", "line", [("host", "line")]),
    ],
)
def test_each_kernel_is_measured_by_each_medium_that_is_wanted(
    wanted: str, medium: str, places: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine on which nothing can be had names all that was wanted."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    kernels = Kernels(medium=medium if medium in ("line", "tc") else "auto")
    kernels.__dict__.update({"host_features": dict.fromkeys(Feature, "") | {Feature.VETH: "no"}, "no_lab": "none"})
    asked = calibrate_all(
        [library.load("lte")], wanted=wanted, medium=medium, kernels=kernels, seed=1, messages=sys.stderr
    )
    found = list(asked)
    assert [(one.kernel, one.medium) for one in found] == places
    assert all(one.refused for one in found)


def test_a_plot_of_nothing_is_empty_and_not_an_error() -> None:
    assert calibration_plot([REFUSED]).png


def test_there_are_as_many_stations_as_a_profile_speaks_of_and_one_more() -> None:
    base = library.load("wireline-10m")
    assert stations_needed(base) == 1
    sides = base.sides()
    assert stations_needed(base.model_copy(update={"stations": {"sta2": sides}})) == 2
    assert stations_needed(base.model_copy(update={"stations": {"sta1": sides, "sta2": sides}})) == 3


def wait_until_gone(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)


@pytest.mark.root
def test_a_worker_ends_with_its_owner() -> None:
    """Killed outright, it leaves no process behind: its namespace of processes goes with it."""
    program = (
        "import sys, time\n"
        "from experiments.workers.isolation import isolated\n"
        "from experiments.workers.worker import Workers\n"
        "words = [sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(600)']\n"
        "with Workers().started(isolated('host', words), '{}', messages=sys.stderr) as worker:\n"
        "    print(next(worker.answers), flush=True); time.sleep(600)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert owner.stdout
    assert owner.stdout.readline() == "1\n"
    children = Path(f"/proc/{owner.pid}/task/{owner.pid}/children").read_text().split()
    assert children
    owner.kill()
    owner.wait()
    owner.stdout.close()
    for child in children:
        wait_until_gone(int(child))
