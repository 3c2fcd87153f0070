"""A trial over a line beside busy loops: they are seen and a reason to run it again, and the line keeps its time."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab_runs import failed, machines, scenario_file
from line_bench.common import busy_loops
from line_trials import WINDOW, check_of, until_quiet
from machine_witness import Witness, witness
from origin import origin

from experiments.campaign import campaign as campaigns
from experiments.campaign import launch, retry, runner
from experiments.campaign.launch import Way
from experiments.scenario import scenario as scenarios
from experiments.trial.checks.sharedmachine import VARIABLE
from experiments.workers.worker import Workers
from records.campaign import read_campaign
from records.store import Trial, trial_name
from records.verdict import Check, Health, Limiter, State, Verdict

pytestmark = [pytest.mark.root, pytest.mark.alone]


def run(folder: Path) -> tuple[Trial, Verdict]:
    """One trial as a process of its own, whose owner watches the machine, with busy loops from go on."""
    scenario = scenarios.load(scenario_file(folder, network="nistnet-80211", window=WINDOW))
    campaign_folder = campaigns.create(scenario, folder / "results")
    campaign = read_campaign(campaign_folder)
    (planned,) = campaign.order
    spec = runner.spec(
        campaign_folder, campaign, campaign.cells[0], planned, origin(), medium="line"
    )  # fmt: skip
    with ExitStack() as beside:

        def phase(name: str, _delivered: int) -> None:
            if name == "load" and not loops:
                loops.append(name)
                beside.enter_context(busy_loops())

        loops: list[str] = []
        log = campaign_folder / runner.LOG
        way = Way(kernel="host", planned=planned, log=log, phase=phase, limit_s=launch.limit(spec, "host"))
        outcome = launch.run_one(spec, way, Workers())
    assert loops
    trial = Trial(campaign_folder / planned.cell / trial_name(planned.trial))
    assert outcome.state is trial.verdict().state, outcome.reasons
    return trial, trial.verdict()


@pytest.fixture(scope="module")
def beside_busy_loops(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trial, Verdict, Witness]:
    """The line's process is in a real-time class, so what stalls it is the machine's hypervisor: three are tried."""
    with pytest.MonkeyPatch.context() as patched, witness() as machine:
        patched.delenv(VARIABLE, raising=False)
        trial, verdict = until_quiet(lambda: run(tmp_path_factory.mktemp("busy")))
    return trial, verdict, machine


def test_a_trial_beside_busy_loops_is_not_valid_for_a_reason_that_the_machine_alone_can_cause(
    beside_busy_loops: tuple[Trial, Verdict, Witness],
) -> None:
    trial, verdict, _ = beside_busy_loops
    against = failed(verdict)
    assert verdict.state is State.INVALID
    assert Check.FOREIGN_LOAD in against, verdict.reasons()
    assert against == machines(against), verdict.reasons()
    assert set(retry.spoiled_by_machine(verdict)) == against
    load = check_of(verdict, Check.FOREIGN_LOAD)
    assert load.measured is not None
    assert load.measured > 0.5 * (os.cpu_count() or 1)
    assert "python" in load.detail
    assert verdict.limited_by is Limiter.MACHINE
    assert trial.manifest().shared_machine is False
    own = check_of(verdict, Check.MACHINE_USE)
    assert own.measured is not None
    assert own.measured < 0.5, "what others used is not the trial's own use"


def test_busy_loops_on_every_core_do_not_make_a_line_late(
    beside_busy_loops: tuple[Trial, Verdict, Witness],
) -> None:
    """A hypervisor that holds a busy machine back for a while makes any process late: the line is no later than one."""
    trial, verdict, machine = beside_busy_loops
    check = check_of(verdict, Check.LINE_LATENESS)
    assert check.measured is not None
    assert check.limit is not None
    assert check.measured <= check.limit + machine.worst_s, check
    assert ("the 12.11 ms that a full frame takes on the link" in check.detail) or check.health is Health.FAILED
    released = [row["value"] for row in trial.table("resources").to_pylist() if row["metric"] == "released_frames"]
    assert released[-1] > 100
