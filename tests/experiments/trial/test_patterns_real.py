"""The patterns' scenarios over a lossy link, small: every stack that a file names keeps what its pattern promises."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from lab_runs import ROOT, assert_sound
from trial_runs import run_file

from analysis.trial import reduce_trial
from records.ledger import reconcile

pytestmark = [pytest.mark.root]

SCENARIOS = ROOT / "experiments" / "scenarios"
SMALL = {
    "network": "bursty-interference",
    "congestion_control": "reno",
    "window": {"warmup_s": 0.5, "window_s": 2, "drain_s": 5},
    "trials": 1,
}
CASES = [
    ("queue", "reference"),
    ("requests", "reference"),
    ("broadcast", "reference"),
    ("stream", "reference"),
    pytest.param("queue", "activemq", marks=pytest.mark.broker),
    pytest.param("requests", "activemq-openwire", marks=pytest.mark.broker),
]


@pytest.mark.parametrize(("name", "stack"), CASES)
def test_a_pattern_keeps_its_promise_over_a_lossy_link(tmp_path: Path, name: str, stack: str) -> None:
    whole = yaml.safe_load((SCENARIOS / f"{name}.yaml").read_text())
    small = tmp_path / "small.yaml"
    small.write_text(yaml.safe_dump(whole | SMALL | {"stack": stack}))
    trial, verdict, _ = run_file(small, tmp_path)
    assert_sound(verdict)
    manifest = trial.manifest()
    assert manifest.workload.asked.pattern == whole["workload"]["pattern"]
    found = reconcile(trial.table("published"), trial.table("delivered"), manifest.workload.audiences)
    assert found.closes
    assert found.delivered > 0
    assert (found.lost, found.duplicates, found.refused) == (0, 0, 0)
    metrics = {row["metric"] for row in reduce_trial(trial.path, 0).to_pylist() if row["table"] == "trial"}
    assert ("response_p50_s" in metrics) == (name == "requests")
