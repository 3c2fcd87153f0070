"""What the runner does with a trial in whose window the machine stalled, with the trial's process replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import scenario_file

from experiments import campaign as campaigns
from experiments import provenance, runner
from experiments import scenario as scenarios
from experiments.bench import TrialSpec
from experiments.runner import Outcome
from results.campaign import Planned, read_campaign
from results.store import Trial, TrialWriter, write_record
from results.verdict import Check, Health, HealthCheck, State, Verdict


class Told:
    def __init__(self) -> None:
        self.repeats: list[str] = []

    def started(self, planned: Planned) -> None:
        pass

    def phase(self, planned: Planned, name: str, delivered: int) -> None:
        pass

    def repeated(self, planned: Planned, why: str) -> None:
        self.repeats.append(f"trial {planned.trial} {why}")

    def ended(self, outcome: Outcome) -> None:
        pass


def verdict(failed: Check | None) -> Verdict:
    return Verdict(
        checks=tuple(
            HealthCheck(check=check, health=Health.FAILED if check is failed else Health.PASSED, measured=2.5)
            for check in Check
        )
    )


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail: list[Check | None]) -> tuple[Outcome, Told, Path]:
    """Run one trial whose attempts fail these checks, in order."""
    attempts = iter(fail)
    notes: list[tuple[str, ...]] = []

    def attempt(spec: TrialSpec, way: runner._Way) -> Outcome:
        writer = TrialWriter(Path(spec.campaign_folder), spec.cell, spec.trial)
        found = verdict(next(attempts))
        write_record(writer.open() / "verdict.json", found)
        writer.path.rename(writer.final)
        notes.append(spec.notes)
        return Outcome(planned=way.planned, state=found.state, reasons=(), seconds=1)

    monkeypatch.setattr(runner, "_run_one", attempt)
    folder = campaigns.create(scenarios.load(scenario_file(tmp_path)), tmp_path / "results")
    campaign = read_campaign(folder)
    spec = runner._spec(folder, campaign, campaign.cells[0], campaign.order[0], provenance.gather())
    told = Told()
    way = runner._Way(kernel="host", planned=campaign.order[0], log=folder / "log", watcher=told)
    outcome = runner._run_until_the_machine_holds_still(spec, way)
    assert [len(one) for one in notes] == list(range(len(notes)))
    assert all("set-aside-trial-001-" in note for one in notes for note in one)
    return outcome, told, folder / spec.cell


def test_a_stalled_trial_is_set_aside_and_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, told, cell = run(tmp_path, monkeypatch, [Check.HEARTBEAT, None])
    assert outcome.state is State.VALID
    assert "machine stalled" in told.repeats[0]
    assert Trial(cell / ".set-aside-trial-001-1").verdict().state is State.INVALID
    assert Trial(cell / "trial-001").verdict().state is State.VALID


def test_a_machine_that_never_holds_still_ends_in_an_invalid_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, told, cell = run(tmp_path, monkeypatch, [Check.HEARTBEAT] * 3)
    assert outcome.state is State.INVALID
    assert len(told.repeats) == 2
    assert (cell / "trial-001").is_dir()


def test_repeats_of_an_earlier_command_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, cell = run(tmp_path, monkeypatch, [Check.HEARTBEAT, Check.HEARTBEAT, Check.HEARTBEAT])
    assert sorted(path.name for path in cell.iterdir()) == [
        ".set-aside-trial-001-1",
        ".set-aside-trial-001-2",
        "trial-001",
    ]


@pytest.mark.parametrize("check", [check for check in Check if check is not Check.HEARTBEAT])
def test_a_trial_that_is_invalid_for_another_reason_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: Check
) -> None:
    outcome, told, _ = run(tmp_path, monkeypatch, [check])
    assert outcome.state is State.INVALID
    assert told.repeats == []
