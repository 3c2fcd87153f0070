"""A campaign in pieces under the real command line: no trial begins that would not end in time, none runs twice."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest
from lab_runs import assert_finished, assert_sound, lab, scenario_file

from experiments.campaign import campaign as campaigns
from records.campaign import read_campaign
from records.filenames import VERDICT
from records.store import Trial, aside, trials, why_aside, write_record
from records.verdict import Check, Health, Verdict

pytestmark = [pytest.mark.root]

# By its times the second of two cells takes more than the two minutes of a piece; in truth its drain is soon complete.
DRAINS = {"warmup_s": 0.3, "window_s": 2, "drain_s": [3, 200]}


def test_what_does_not_fit_waits_and_the_words_finish_it(tmp_path: Path) -> None:
    results, began = tmp_path / "results", time.time()
    scenario = scenario_file(tmp_path, window=DRAINS)
    piece = lab("run", scenario, "--for", "2m", results=results)
    (folder,) = campaigns.folders(results)
    planned = [f"{one.cell}/trial-001" for one in read_campaign(folder).order]
    assert planned == ["drain_s=3/trial-001", "drain_s=200/trial-001"], "the shuffled order of this seed"
    assert piece.returncode == 4, piece.stdout + piece.stderr
    assert names(folder) == planned[:1]
    assert "1 to run, the next one (drain_s=200 trial 1)" in piece.stderr
    assert (folder / "report.html").is_file(), "the report's time counts, so it is there"
    begun = began_at(trials(folder)[0])
    assert began < begun
    first = (trials(folder)[0].path / "manifest.json").stat()

    resumed = lab(*words(piece.stderr), "--no-report", results=results)
    assert "1 to run" in resumed.stdout
    assert_finished(resumed, folder)
    assert sorted(names(folder)) == sorted(planned)
    again = (trials(folder)[names(folder).index(planned[0])].path / "manifest.json").stat()
    assert (again.st_ino, again.st_mtime_ns) == (first.st_ino, first.st_mtime_ns), "a finished trial was run again"


@pytest.fixture(scope="module")
def without_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished campaign without a report, begun by a command whose time was too short for its trial."""
    folder = tmp_path_factory.mktemp("pieces")
    results = folder / "results"
    piece = lab("run", scenario_file(folder), "--no-report", "--for", "1s", results=results)
    (campaign,) = campaigns.folders(results)
    assert piece.returncode == 4, piece.stdout + piece.stderr
    assert "too short for a trial, so none was begun: 1 to run" in piece.stderr
    assert not list(campaign.glob("*/trial-*"))
    assert (campaign / "campaign.json").is_file()
    again = words(piece.stderr)
    assert "--no-report" in again
    assert_finished(lab(*again, results=results), campaign)
    return campaign


def test_too_short_a_time_begins_nothing_and_its_words_are_long_enough(without_report: Path) -> None:
    assert names(without_report) == ["only/trial-001"]


def test_a_report_that_does_not_fit_is_left_out_with_the_words_that_build_it(without_report: Path) -> None:
    folder, results = without_report, without_report.parents[1]
    assert not (folder / "report.html").exists()
    late = lab("resume", folder, "--for", "2s", results=results)
    assert late.returncode == 4, late.stdout + late.stderr
    assert not (folder / "report.html").exists()
    assert "the report was left out" in late.stderr
    built = lab(*shlex.split(late.stderr.split("build it with: lab ")[1]), results=results)
    assert built.returncode in (0, 3), built.stdout + built.stderr
    assert (folder / "report.html").is_file()


def test_an_invalid_trial_is_run_again_when_that_is_asked(without_report: Path) -> None:
    (trial,) = trials(without_report)
    failed = [
        one.model_copy(update={"health": Health.FAILED}) if one.check is Check.SERVER_CPU else one
        for one in trial.verdict().checks
    ]
    write_record(trial.path / VERDICT, Verdict(checks=tuple(failed)))
    assert "0 to run" in lab("resume", without_report, "--no-report", results=without_report.parents[1]).stdout

    again = lab("resume", "--retry", "invalid", "--no-report", results=without_report.parents[1])
    assert_finished(again, without_report)
    assert "1 invalid trial set aside, to be run again" in again.stdout
    (kept,) = aside(trial)[:1]
    assert "server_cpu failed" in why_aside(kept)
    assert kept.name in trial.manifest().notes[0]
    assert_sound(trial.verdict())


def words(said: str) -> list[str]:
    """The command that goes on, without `lab`."""
    (line,) = [line for line in said.splitlines() if line.startswith("go on with: ")]
    return shlex.split(line.removeprefix("go on with: lab "))


def names(folder: Path) -> list[str]:
    """Finished trials as cell/trial."""
    return [str(trial.path.relative_to(folder)) for trial in trials(folder)]


def began_at(trial: Trial) -> float:
    """When a trial's load began, in seconds of the wall clock."""
    manifest = trial.manifest()
    return (manifest.window.go_ns + manifest.clock_offset_ns) / 1e9
