"""Work of others beside a trial is seen, and is a reason to run it again; the machine must be free of other tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lab_runs import failed, machines, scenario_file

from experiments import again, launch, provenance, runner
from experiments import campaign as campaigns
from experiments import scenario as scenarios
from experiments.launch import Processes, Way
from experiments.sharedmachine import VARIABLE
from results.campaign import read_campaign
from results.store import Trial, trial_name
from results.verdict import Check, Limiter, State

pytestmark = [pytest.mark.root, pytest.mark.alone]


@contextmanager
def busy_loops() -> Iterator[None]:
    """One for each processor, none of them a trial's."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def test_a_trial_beside_busy_loops_is_not_valid_for_a_reason_that_the_machine_alone_can_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    folder = campaigns.create(scenarios.load(scenario_file(tmp_path, network="nistnet-80211")), tmp_path / "results")
    campaign = read_campaign(folder)
    (planned,) = campaign.order
    spec = runner.spec(folder, campaign, campaign.cells[0], planned, provenance.gather())
    way = Way(kernel="host", planned=planned, log=folder / runner.LOG, phase=lambda *_: None)
    with busy_loops():
        outcome = launch.run_one(spec, way, Processes())
    trial = Trial(folder / planned.cell / trial_name(planned.trial))
    verdict = trial.verdict()
    against = failed(verdict)
    assert outcome.state is verdict.state is State.INVALID, outcome.reasons
    assert Check.FOREIGN_LOAD in against, verdict.reasons()
    assert against == machines(against), verdict.reasons()
    assert set(again.spoiled_by_machine(verdict)) == against
    (load,) = [one for one in verdict.checks if one.check is Check.FOREIGN_LOAD]
    assert load.measured is not None
    assert load.measured > 0.5 * (os.cpu_count() or 1)
    assert "python" in load.detail
    assert verdict.limited_by is Limiter.MACHINE
    assert trial.manifest().shared_machine is False
    (own,) = [one for one in verdict.checks if one.check is Check.MACHINE_USE]
    assert own.measured is not None
    assert own.measured < 0.5, "what others used is not the trial's own use"
