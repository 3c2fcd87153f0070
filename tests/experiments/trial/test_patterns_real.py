"""The patterns' scenarios over a lossy link, small: every stack that a file names keeps what its pattern promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import assert_sound, failed
from shown_scenarios import small
from trial_runs import run_file

from analysis.journey.parts import BY_NODES, EVERY, LATENCY, WIRES, of_reply
from analysis.trial import reduce_trial
from records.ledger import reconcile
from records.verdict import Check

pytestmark = [pytest.mark.root]

PATTERNS = {
    "queue": "queue",
    "requests": "request_reply",
    "broadcast": "broadcast",
    "stream": "stream",
    "iris": "request_reply",
    "peers": "stream",  # the last of its cases
}
CASES = [
    ("queue", "reference"),
    ("requests", "reference"),
    ("broadcast", "reference"),
    ("stream", "reference"),
    ("iris", "iris"),
    ("peers", "reference-peers"),
    # A queue over `activemq` and requests over `activemq-openwire` are the loads of `chain` and `cells`, which
    # tests/experiments/scenario/test_segments_real.py runs.
    pytest.param("queue", "activemq-openwire", marks=pytest.mark.broker),
    pytest.param("requests", "activemq", marks=pytest.mark.broker),
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
    if PATTERNS[name] == "stream":
        assert found.reordered == 0
    rows = reduce_trial(trial.path, 0).to_pylist()
    metrics = {row["metric"]: row["value"] for row in rows if row["table"] == "trial"}
    assert ("response_p50_s" in metrics) == (PATTERNS[name] == "request_reply")
    journey = {row["metric"]: row["value"] for row in rows if (row["table"], row["key"]) == ("journey", "mean")}
    if name == "iris":
        assert metrics["journey_share"] > 0.9 or Check.CAPTURE_DROPS in failed(trial.verdict())
        assert 1 <= metrics["hops_mean"] <= 3
        assert set(journey) == {*BY_NODES, *map(of_reply, BY_NODES), LATENCY}
        assert sum(journey.values()) == pytest.approx(2 * journey[LATENCY], rel=0.01)
        assert min(journey["between_nodes"], journey["reply_between_nodes"]) > 0
    if name == "requests" and stack == "reference":
        assert metrics["journey_share"] > 0.9 or Check.CAPTURE_DROPS in failed(trial.verdict())
        assert set(journey) == {*EVERY, LATENCY} - {*WIRES}, "the server's port is not captured on so fast a link"
        assert sum(journey[part] for part in journey if part != LATENCY) == pytest.approx(journey[LATENCY], rel=0.01)
        assert journey["service"] >= manifest.workload.asked.service_time.mean_s
