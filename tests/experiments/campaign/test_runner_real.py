"""Campaigns under the real command line: interrupted, killed, resumed."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from campaign_runs import WINDOW, assert_gone, begin, clients_of, until
from lab_runs import (
    ROOT,
    assert_finished,
    assert_sound,
    command,
    lab,
    living_in,
    scenario_file,
    traces,
)

from experiments.campaign import campaign as campaigns
from records.campaign import read_campaign
from records.filenames import MANIFEST
from records.store import trials, why_failed, write_record
from records.verdict import Check, Health, State

pytestmark = [pytest.mark.root]

LONG = WINDOW | {"window_s": 120}


def test_a_killed_trial_is_a_failed_one_and_a_killed_runner_leaves_nothing_and_both_are_taken_up(
    tmp_path: Path,
) -> None:
    before, results = traces(tmp_path), tmp_path / "results"
    scenario = scenario_file(tmp_path, trials=2, congestion_control="cubic", window=WINDOW)
    process, spaces = begin(scenario, results)
    (first_of_trial,) = [child for child in psutil.Process(process.pid).children() if "unshare" in child.name()]
    os.kill(first_of_trial.pid, signal.SIGKILL)
    said, complaints = process.communicate(timeout=600)
    assert process.returncode == 1, said + complaints
    assert "SIGKILL" in said
    assert living_in(spaces) == []
    (folder,) = campaigns.folders(results)
    finished = {trial.path: trial.path.stat().st_ino for trial in trials(folder)}
    assert len(finished) == 1

    process, spaces = begin(scenario, results, finished=1)
    process.send_signal(signal.SIGKILL)
    said, _ = process.communicate()
    assert "taking up" in said
    assert campaigns.folders(results) == [folder]
    assert "1/2" in lab("list", results=results).stdout
    assert_gone(spaces, before, tmp_path)

    # As if the finished trial had been run elsewhere: the words that are told mix the two.
    (first,) = trials(folder)
    manifest = first.manifest()
    elsewhere = manifest.model_copy(update={"machine": manifest.machine.model_copy(update={"cpu_model": "another"})})
    write_record(first.path / MANIFEST, elsewhere)
    refused = lab("resume", "--no-report", results=results)
    if first.verdict().state is State.VALID:
        assert refused.returncode == 1, refused.stdout + refused.stderr
        assert "processor: another" in refused.stderr
        assert len(trials(folder)) == 1
        words = shlex.split(refused.stderr.split("allow it: lab ")[1])
        resumed = lab(*words, results=results)
        (added,) = [trial for trial in trials(folder) if trial.path != first.path]
        assert any("run with --mix" in note for note in added.manifest().notes)
    else:  # what does not count is not mixed with
        resumed = refused
    assert_finished(resumed, folder)
    assert "1 to run" in resumed.stdout
    assert campaigns.missing(folder, read_campaign(folder)) == []
    assert len(trials(folder)) == 2
    assert {path: path.stat().st_ino for path in finished} == finished, "a finished trial was run again"
    assert traces(tmp_path) == before


def test_an_interrupted_campaign_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    before = traces(tmp_path)
    process, spaces = begin(scenario_file(tmp_path, window=LONG), tmp_path / "results")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "lab resume" in said
    assert_gone(spaces, before, tmp_path)


def test_a_killed_client_fails_its_trial_with_a_log_that_is_there(tmp_path: Path) -> None:
    process, spaces = begin(scenario_file(tmp_path, window=LONG), tmp_path / "results")
    until(lambda: bool(clients_of(process.pid)))
    clients_of(process.pid)[0].kill()
    said, complaints = process.communicate(timeout=600)
    assert process.returncode == 1, said + complaints
    assert f"it ended with signal SIGKILL\n{tmp_path}" in said
    (log,) = [line.removesuffix(":") for line in said.splitlines() if line.startswith(str(tmp_path))]
    assert Path(log).is_file()
    assert living_in(spaces) == []
    assert "1 trial failed, for the reason above, to be run again\ngo on with: lab resume" in complaints
    (folder,) = campaigns.folders(tmp_path / "results")
    (planned,) = read_campaign(folder).order
    assert "it ended with signal SIGKILL" in why_failed(folder / planned.cell / "trial-001")


OFF = "nothing was captured: the scenario has capture off"


def test_two_campaigns_run_side_by_side_one_without_captures(tmp_path: Path) -> None:
    both = []
    for name, settings in (("one", {}), ("two", {"capture": False})):
        (tmp_path / name).mkdir()
        scenario = scenario_file(tmp_path / name, scenario=name, **settings)
        words = command("run", scenario, "--no-report", results=tmp_path / "results")
        both.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT))
    for process in both:
        said, complaints = process.communicate(timeout=900)
        assert "1 cell, 1 trial, 1 to run" in said, said + complaints
        assert process.returncode in (0, 3), said + complaints
    finished = [trial for folder in campaigns.folders(tmp_path / "results") for trial in trials(folder)]
    assert len(finished) == 2
    for trial in finished:
        # Two brokers on two cores may make each other late, but neither may touch the other's link or messages.
        assert_sound(trial.verdict())
    captured = {trial.path.parents[2].name: trial.manifest().no_captures for trial in finished}
    assert captured == {"one": "", "two": OFF}
    (without,) = [trial for trial in finished if trial.path.parents[2].name == "two"]
    assert not list(without.path.rglob("*.pcap"))
    assert without.manifest().captures == ()
    (drops,) = [one for one in without.verdict().checks if one.check is Check.CAPTURE_DROPS]
    assert (drops.health, drops.measured) == (Health.PASSED, 0)
