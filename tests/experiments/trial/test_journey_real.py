"""Real trials over a slow and lossy link: where the time of their messages went."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import failed
from trial_runs import run

from analysis.journey.parts import PARTS
from analysis.trial import reduce_trial
from records.marker import MAGIC
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


def test_an_encrypted_trial_says_what_was_agreed_on_and_that_its_messages_are_not_seen(tmp_path: Path) -> None:
    trial, _, _ = run(
        tmp_path,
        stack="mosquitto",
        knobs={"mosquitto": {"qos": 1, "window": 20, "server_window": 20, "server_queue": 1000, "tls": "1.3"}},
        window={"warmup_s": 0.3, "window_s": 1, "drain_s": 3},
    )
    work = trial.manifest().workload
    (agreed,) = work.tls
    assert agreed.startswith("TLSv1.3 ")
    assert all(one.sockets and one.sockets[0].tls == agreed for one in (*work.producers, *work.consumers))
    rows = reduce_trial(trial.path, 0).to_pylist()
    metrics = {row["metric"]: row["value"] for row in rows if row["table"] == "trial"}
    assert metrics["deliveries"] > 0
    assert "journey_share" not in metrics
    assert [(row["metric"], row["text"]) for row in rows if row["table"] == "journey"] == [
        ("why", f"the clients' connections are encrypted ({agreed}), so messages cannot be seen in packets")
    ]
    files = {path.name: path.read_bytes() for path in trial.path.rglob("*") if path.is_file()}
    captures = [content for name, content in files.items() if name.endswith(".pcap")]
    assert captures
    assert not any(MAGIC in content for content in captures)
    assert not {"server.key", "server.p12", "password"} & files.keys()
    assert not any(b"PRIVATE KEY" in content for content in files.values())
