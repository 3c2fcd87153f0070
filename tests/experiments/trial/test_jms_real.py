"""Real trials with JMS's semantics: what the load generator, the broker, the ledger and the journey make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lab_runs import SMALL, failed
from trial_runs import run

from analysis.trial import reduce_trial
from records.ledger import reconcile
from records.schema import Outcome
from records.store import Trial
from records.verdict import Check

pytestmark = [pytest.mark.root, pytest.mark.broker]

NARROW = {
    "name": "narrow",
    "description": "Much comes from one station and little gets to the other.",
    "source": "made for this test",
    "medium": "duplex",
    "rate": "50 Mbit/s",
    "queue_bytes": 60_000,
    "stations": {"sta2": {"rate": "1 Mbit/s"}},
}


def workload(**changes: Any) -> dict[str, Any]:
    return SMALL["workload"] | changes


def test_texts_received_one_by_one_and_acknowledged_by_the_application_are_followed(tmp_path: Path) -> None:
    trial, verdict, _ = run(
        tmp_path,
        stack="activemq-openwire",
        network="nistnet-80211",
        workload=workload(body_type="text", receive="sync", ack="client", acknowledge_every=3, prefetch=5),
    )
    manifest = trial.manifest()
    assert (manifest.workload.asked.body_type, manifest.workload.asked.receive) == ("text", "sync")
    published, delivered = trial.table("published"), trial.table("delivered")
    assert reconcile(published, delivered, manifest.workload.audiences).closes
    rows = reduce_trial(trial.path, 0).to_pylist()
    metrics = {row["metric"]: row["value"] for row in rows if row["table"] == "trial"}
    assert metrics["deliveries"] > 50
    assert metrics["journey_share"] >= 0.9 or Check.CAPTURE_DROPS in failed(verdict)


def fast_into_narrow(tmp_path: Path, **workload: object) -> Trial:
    """A publisher whose subscribers cannot keep up, and a broker that refuses what it has no space for."""
    profile = tmp_path / "narrow.yaml"
    profile.write_text(yaml.safe_dump(NARROW))
    trial, _, _ = run(
        tmp_path,
        stack="activemq-openwire",
        network=str(profile),
        workload={
            "clients": {"publishers": 1, "subscribers": 2},
            "body_bytes": 20_000,
            "when_full": "refuse",
            **workload,
        },
        window={"warmup_s": 1, "window_s": 3, "drain_s": 0.5},
        capture=False,
    )
    return trial


def test_a_broker_that_may_hold_more_refuses_nothing(tmp_path: Path) -> None:
    manifest = fast_into_narrow(tmp_path, memory_limit_mb=256).manifest()
    assert manifest.workload.asked.memory_limit_mb == 256
    assert manifest.rows["published"] > 4_000_000 / 20_000  # more than the broker's usual 4 MB
    assert manifest.workload.producers[0].retries == 0


def test_sends_that_a_full_broker_refused_are_repeated_and_counted(tmp_path: Path) -> None:
    trial = fast_into_narrow(tmp_path)
    manifest, published = trial.manifest(), trial.table("published")
    assert manifest.workload.asked.when_full == "refuse"
    assert manifest.workload.producers[0].retries > 10
    assert published.column("outcome").to_pylist().count(Outcome.ACKED) > 50
    metrics = {
        row["metric"]: row["value"] for row in reduce_trial(trial.path, 0).to_pylist() if row["table"] == "trial"
    }
    assert metrics["retries"] == manifest.workload.producers[0].retries
    found = reconcile(published, trial.table("delivered"), manifest.workload.audiences)
    assert found.closes
    assert found.lost == 0
    assert found.duplicates == 0
