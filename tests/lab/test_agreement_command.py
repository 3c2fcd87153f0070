"""`lab calibrate --agreement`: which media are compared, when it stops, what it writes, its status."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from agreement_world import Measured, World
from lab_command import lab

from emulation.plan.stages import Feature
from experiments.campaign import campaign as campaigns
from experiments.tools import agreement
from experiments.workers.kernels import Kernels
from lab import agreement as command
from lab import execution
from lab.agreement import Asked, agree, possible
from lab.beforehand import Care
from lab.common import Status
from records.agreement import By
from records.campaign import read_campaign
from records.store import trials

ROOT = Path(__file__).parents[2]
EVERYTHING = dict.fromkeys(Feature, "")


def machine(**lacks: str) -> Kernels:
    """A machine whose own kernel can do everything but for the features that are named with a reason."""
    made = Kernels()
    made.__dict__.update({"host_features": EVERYTHING | {Feature[name]: why for name, why in lacks.items()}})
    made.__dict__["no_lab"] = ""
    return made


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def asked(folder: Path, *profiles: str, by: tuple[By, ...] = ("line", "lab", "host"), **more: Any) -> Asked:
    return Asked(
        profiles=profiles, by=by, out_folder=folder / "out", results=folder / "results", care=Care(room=True), **more
    )


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    """Trials are measured by an invented world.  ends: the status of each execution, in order; then all is well."""

    def world(measures: Callable[[str, By, int], Measured], *, ends: tuple[Status, ...] = ()) -> World:
        made, left = World(measures), list(ends)

        def execute(folder: Path, *_: Any, **__: Any) -> Status:
            status = left.pop(0) if left else Status.ALL_VALID
            for one in campaigns.missing(folder, read_campaign(folder)) if status in (0, 3) else ():
                made.run(folder, one)
            return status

        monkeypatch.setattr(execution, "execute", execute)
        monkeypatch.setattr(command, "Kernels", machine)
        return made

    return world


def test_media_that_a_machine_lacks_are_left_out_with_the_reason(tmp_path: Path) -> None:
    wanted, refused = possible(asked(tmp_path, "lte", "nistnet-80211", "5g"), machine(NETEM="unknown"))
    assert wanted == {"lte": ["line", "lab"], "nistnet-80211": ["line", "lab", "host"]}
    assert "no netem" in refused["lte", "host"]
    assert "50 Mbit/s at most" in refused["5g", "lab"]


def test_a_profile_that_only_one_medium_can_do_is_compared_with_nothing(tmp_path: Path) -> None:
    wanted, refused = possible(asked(tmp_path, "lte", by=("line", "host")), machine(NETEM="unknown"))
    assert wanted == {}
    assert refused["lte", "line"] == "there is nothing to compare it with"


def test_profiles_of_ones_own_are_told_apart(tmp_path: Path) -> None:
    text = (ROOT / "emulation" / "profiles" / "lte.yaml").read_text()
    same = tmp_path / "my link.yaml"
    same.write_text(text)
    with pytest.raises(typer.Exit) as ended:
        possible(asked(tmp_path, "lte", str(same)), machine())
    assert ended.value.exit_code == Status.USAGE
    long = "a-name-that-is-so-long-that-a-case-has-no-room-for-"
    files = []
    for ending in ("one", "two"):
        path = tmp_path / f"{long}{ending} (copy).yaml"
        path.write_text(text.replace("name: lte", f"name: {long}{ending}"))
        files.append(str(path))
    wanted, _ = possible(asked(tmp_path, *files), machine())
    made = agreement.write_scenario(tmp_path / "agreement.yaml", wanted)
    cases = {cell.levels["case"]: cell.profile.name for cell in made.cells}
    assert len(cases) == len(made.cells) == 2 * sum(map(len, wanted.values()))
    assert set(cases.values()) == {f"{long}{ending}" for ending in ("one", "two")}


def test_equal_media_end_well_and_are_written_down(tmp_path: Path, running: Callable[..., World]) -> None:
    world = running(lambda *_: Measured())
    assert agree(asked(tmp_path, "nistnet-80211", "lte")) is Status.ALL_VALID
    assert len(world.ran) == 2 * 3 * 6
    text = (tmp_path / "out" / "agreement.md").read_text()
    assert "4 comparisons of two media: 4 equal." in text
    assert "after 3, 6, 12, 24 and 48 of them" in text
    assert (tmp_path / "out" / "agreement.csv").read_text().count("equal") == 4 * 2


def test_a_second_command_runs_nothing_again(tmp_path: Path, running: Callable[..., World]) -> None:
    world = running(lambda *_: Measured())
    agree(asked(tmp_path, "lte"))
    before = len(world.ran)
    assert agree(asked(tmp_path, "lte")) is Status.ALL_VALID
    assert len(world.ran) == before
    agree(asked(tmp_path, "lte", new=True))
    assert len(world.ran) == 2 * before


def test_media_that_differ_are_told_by_the_status(tmp_path: Path, running: Callable[..., World]) -> None:
    running(lambda _, by, __: Measured(rate=10.0 if by == "line" else 9.0))
    assert agree(asked(tmp_path, "lte")) is Status.NOT_ALL_VALID
    assert "**not equal**" in (tmp_path / "out" / "agreement.md").read_text()


@pytest.mark.parametrize("end", [Status.TIME_IS_UP, Status.FAILED, Status.INTERRUPTED])
def test_what_breaks_off_writes_what_there_is(tmp_path: Path, running: Callable[..., World], end: Status) -> None:
    running(lambda *_: Measured(), ends=(end,))
    assert agree(asked(tmp_path, "lte")) is end
    assert "**undecided** (0 pairs)" in (tmp_path / "out" / "agreement.md").read_text()
    assert agree(asked(tmp_path, "lte")) is Status.ALL_VALID, "the next command goes on"


def test_invalid_trials_do_not_end_it(tmp_path: Path, running: Callable[..., World]) -> None:
    """They are in no pair; the next look has more."""
    running(lambda *_: Measured(), ends=(Status.NOT_ALL_VALID,))
    assert agree(asked(tmp_path, "lte")) is Status.ALL_VALID


def test_the_command_that_goes_on_is_the_same(tmp_path: Path) -> None:
    words = asked(tmp_path, "lte", by=("line", "lab"), duration="20m").command().text()
    assert words.startswith("lab calibrate --agreement lte --by line --by lab --results ")
    assert words.endswith("--for 20m")
    assert "--by" not in asked(tmp_path, "lte").command().text()


def test_the_results_are_a_campaign_that_can_be_reported(tmp_path: Path, running: Callable[..., World]) -> None:
    running(lambda *_: Measured())
    agree(asked(tmp_path, "lte"))
    (folder,) = campaigns.folders(tmp_path / "results")
    assert len(trials(folder)) == 2 * 9
    assert campaigns.latest_unfinished(tmp_path / "results") is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agreement", "no-such"], "no link profile 'no-such'"),
        (["--agreement", "--by", "moon"], "'moon' is not one of line, lab, host"),
        (["--agreement", "--for", "soon"], "'soon' is not a duration"),
        (["--new"], "belong to --agreement"),
        (["--agreement", "--medium", "line"], "--kernel, --medium and --seed do not go with --agreement"),
    ],
)
def test_a_wrong_command_ends_with_status_2(tmp_path: Path, words: list[str], message: str) -> None:
    done = lab("calibrate", *words, "--out", tmp_path / "none", "--results", tmp_path / "results")
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "none").exists()
