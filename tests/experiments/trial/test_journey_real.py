"""Real trials over a slow and lossy link: where the time of their messages went."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import failed
from trial_runs import run

from analysis.journey.parts import PARTS
from analysis.trial import reduce_trial
from records.verdict import Check

pytestmark = [pytest.mark.root, pytest.mark.broker]


def test_nearly_every_delivery_over_a_lossy_link_is_attributed(tmp_path: Path) -> None:
    trial, verdict, _ = run(
        tmp_path,
        stack="activemq",
        network="nistnet-80211",
        window={"warmup_s": 0.5, "window_s": 4, "drain_s": 4},
    )
    manifest = trial.manifest()
    assert {one.side for one in manifest.captures} == {"station", "wired", "client", "server"}
    assert all(one.ports for one in (*manifest.workload.producers, *manifest.workload.consumers))
    rows = reduce_trial(trial.path, 0).to_pylist()
    assert not [row["text"] for row in rows if row["table"] == "damage"]
    metrics = {row["metric"]: row["value"] for row in rows if row["table"] == "trial"}
    why = [row["text"] for row in rows if row["table"] == "journey" and row["metric"] == "why"]
    assert metrics["deliveries"] > 100
    assert metrics["journey_share"] >= 0.9 or Check.CAPTURE_DROPS in failed(verdict), why
    journey: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["table"] == "journey" and row["key"]:
            journey.setdefault(row["key"], {})[row["metric"]] = row["value"]
    assert list(journey) == ["mean", "p50", "p90", "p99", "p99.9"]
    for parts in journey.values():
        assert set(parts) == {*PARTS, "latency"}
        assert sum(parts[name] for name in PARTS) == pytest.approx(parts["latency"], rel=0.01)
        assert all(parts[name] > -0.001 for name in PARTS)
    mean = journey["mean"]
    if metrics["journey_share"] == 1:
        # Nothing but the ledger's own latency has been split.
        assert mean["latency"] == pytest.approx(metrics["latency_mean_s"], rel=0.01)
    # Three packets of a hundred are lost: some message had to be sent again, and waited for it.
    assert max(metrics["copies_uplink"], metrics["copies_downlink"]) > 1
    assert mean["uplink_recovery"] + mean["downlink_recovery"] > 0
