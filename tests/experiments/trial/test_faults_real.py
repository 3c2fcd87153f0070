"""Each fault of the reference stack, in a whole trial: its own check or metric fires, and no other.

That a trial without a fault is sound is in test_trial_real.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import machines, scenario_file
from repeats_world import Told

from analysis.trial import reduce_trial
from experiments.campaign import campaign as campaigns
from experiments.campaign import runner
from experiments.scenario import scenario as scenarios
from experiments.workers.kernels import Kernels
from records.campaign import read_campaign
from records.store import Trial, trial_name
from records.verdict import Check, Health

pytestmark = [pytest.mark.root]

FAULTS = [{"drop": 7}, {"duplicate": 7}, {"reorder": 7}, {"stall": "20:1.2"}, {"crash": 40}]
SILENCE_S = 0.9
COUNTED = ("loss_share", "duplicate_share", "reordered_share", "refused", "foreign")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Fault to what fired: failed health checks and metrics that are not as they should be, each with its detail."""
    folder = tmp_path_factory.mktemp("faults")
    scenario = scenarios.load(scenario_file(folder, faults=FAULTS))
    campaign = campaigns.create(scenario, folder / "results")
    watcher = Told()
    runner.run(campaign, watcher, Kernels())
    assert [outcome.state for outcome in watcher.outcomes].count("failed") == 0, watcher.outcomes
    cells = {cell.name: cell.levels["faults"] for cell in read_campaign(campaign).cells}
    return {fault: fired(campaign / cell / trial_name(1)) for cell, fault in cells.items()}


def fired(path: Path) -> dict[str, str]:
    """What one trial's verdict and metrics complain of."""
    verdict = Trial(path).verdict()
    complaints = {
        one.check.value: one.detail for one in verdict.checks if one.health in (Health.FAILED, Health.UNKNOWN)
    }
    rows = reduce_trial(path, 0).to_pylist()
    metrics = {row["metric"]: row["value"] for row in rows if row["table"] == "trial"}
    counted = {name: str(metrics[name]) for name in COUNTED if metrics[name] > 0}
    silence_s = metrics["longest_silence_s"]
    silent = {"longest_silence_s": str(silence_s)} if silence_s > SILENCE_S else {}
    return complaints | counted | silent


def noise(found: dict[str, str]) -> set[str]:
    """What of a trial's complaints may be the machine's doing: where it was noisy, a silence, too."""
    checks = {check.value for check in machines({check for check in Check if check in found})}
    return checks | {"longest_silence_s"} if checks else set()


@pytest.mark.parametrize(
    ("fault", "fires"),
    [
        ("drop-7", {"loss_share"}),
        ("duplicate-7", {"duplicate_share"}),
        ("reorder-7", {"reordered_share"}),
        ("stall-20-1.2", {"longest_silence_s"}),
    ],
)
def test_a_fault_fires_its_own_metric_and_only_that(
    found: dict[str, dict[str, str]], fault: str, fires: set[str]
) -> None:
    assert fires <= set(found[fault]) <= fires | noise(found[fault]), found[fault]


def test_a_crash_fires_servers_alive_and_is_no_loss(found: dict[str, dict[str, str]]) -> None:
    # Nothing comes from a dead broker: silence is what a crash is made of.
    others = set(found["crash-40"]) - {"longest_silence_s"} - noise(found["crash-40"])
    assert others == {Check.SERVERS_ALIVE.value}, found["crash-40"]
