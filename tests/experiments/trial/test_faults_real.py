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

OPEN = {"body_bytes": 200, "loop": "open", "rate": 20}
TOPICS = {"clients": {"publishers": 2, "subscribers": 4, "topics": 2}}
# A message to everybody, to one of several, to and fro, to all members, one after the other.
CASES: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "drop": ({"drop": 7}, TOPICS),
    "duplicate": ({"duplicate": 7}, TOPICS),
    "reorder": ({"reorder": 7}, TOPICS),
    "stall": ({"stall": "20:1.2"}, TOPICS),
    "crash": ({"crash": 40}, TOPICS),
    "double": ({"double": 7}, {"pattern": "queue", "clients": {"senders": 2, "receivers": 4, "queues": 1}}),
    # Others wait for a reply as well whenever one comes.
    "misreply": (
        {"misreply": 7},
        {"pattern": "request_reply", "clients": {"callers": 4, "services": 2}, "service_time": "20 ms"},
    ),
    "omit": ({"omit": 7}, {"pattern": "broadcast", "clients": {"senders": 1, "members": 3}}),
    "swap": ({"swap": 7}, {"pattern": "stream", "clients": {"shape": "duplex", "flows": 2}}),
    "split": ({"split": 7}, {"pattern": "stream", "clients": {"shape": "shared", "flows": 4, "receivers": 2}}),
}
SILENCE_S = 0.9
COUNTED = ("loss_share", "duplicate_share", "reordered_share", "refused", "foreign")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Fault to what fired: failed health checks and metrics that are not as they should be, each with its detail."""
    folder = tmp_path_factory.mktemp("faults")
    cases = [{"case": name, "faults": faults, "workload": OPEN | work} for name, (faults, work) in CASES.items()]
    campaign = campaigns.create(scenarios.load(scenario_file(folder, workload=OPEN, cases=cases)), folder / "results")
    watcher = Told()
    runner.run(campaign, watcher, Kernels())
    assert [outcome.state for outcome in watcher.outcomes].count("failed") == 0, watcher.outcomes
    cells = {cell.name: cell.levels["case"] for cell in read_campaign(campaign).cells}
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
        ("drop", {"loss_share"}),
        ("duplicate", {"duplicate_share"}),
        ("reorder", {"reordered_share"}),
        ("stall", {"longest_silence_s"}),
        ("double", {"duplicate_share"}),
        ("misreply", {"foreign", Check.LEDGER_CLOSES.value}),  # a reply that nobody sent to that caller
        ("omit", {"loss_share"}),
        ("swap", {"reordered_share"}),
        ("split", {"foreign", Check.LEDGER_CLOSES.value}),  # another receiver of its address has it
    ],
)
def test_a_fault_fires_its_own_metric_and_only_that(
    found: dict[str, dict[str, str]], fault: str, fires: set[str]
) -> None:
    assert fires <= set(found[fault]) <= fires | noise(found[fault]), found[fault]


def test_a_crash_fires_servers_alive_and_is_no_loss(found: dict[str, dict[str, str]]) -> None:
    # Nothing comes from a dead broker: silence is what a crash is made of.
    others = set(found["crash"]) - {"longest_silence_s"} - noise(found["crash"])
    assert others == {Check.SERVERS_ALIVE.value}, found["crash"]
