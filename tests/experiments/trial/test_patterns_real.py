"""The patterns' scenarios over a lossy link, small: every stack that a file names keeps what its pattern promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import assert_sound
from shown_scenarios import small
from trial_runs import run_file

from analysis.trial import reduce_trial
from records.ledger import reconcile

pytestmark = [pytest.mark.root]

PATTERNS = {"queue": "queue", "requests": "request_reply", "broadcast": "broadcast", "stream": "stream"}
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
    file = small(tmp_path, name, stack=stack, network="bursty-interference")
    trial, verdict, _ = run_file(file, tmp_path)
    assert_sound(verdict)
    manifest = trial.manifest()
    assert manifest.workload.asked.pattern == PATTERNS[name]
    found = reconcile(trial.table("published"), trial.table("delivered"), manifest.workload.audiences)
    assert found.closes
    assert found.delivered > 0
    assert (found.lost, found.duplicates, found.refused) == (0, 0, 0)
    metrics = {row["metric"] for row in reduce_trial(trial.path, 0).to_pylist() if row["table"] == "trial"}
    assert ("response_p50_s" in metrics) == (name == "requests")
