"""Subscribers that go out of reach on a link that goes dark: real trials, and what the report makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lab_runs import SMALL, failed, machines
from trial_runs import run

from analysis.trial import reduce_trial
from records.store import Trial

pytestmark = [pytest.mark.root, pytest.mark.broker]

DARK = {
    "name": "dark",
    "description": "for tests",
    "source": "made for tests",
    "medium": "shared",
    "rate": "2 Mbit/s",
    "timeline": [{"at": "1 s", "outage": "1.5 s", "stations": ["sta2"]}],
}
GUARANTEES = {
    "durable": {"subscription": "durable", "delivery": "persistent"},
    "nondurable": {"subscription": "nondurable", "delivery": "nonpersistent"},
}


def metrics_of(trial: Trial) -> dict[str, float]:
    rows = reduce_trial(trial.path, 0).to_pylist()
    return {row["metric"]: row["value"] for row in rows if row["table"] == "trial"}


@pytest.mark.parametrize("subscription", list(GUARANTEES))
def test_who_goes_out_of_reach_comes_back_and_only_the_durable_miss_nothing(tmp_path: Path, subscription: str) -> None:
    profile = tmp_path / "dark.yaml"
    profile.write_text(yaml.safe_dump(DARK, sort_keys=False))
    workload: dict[str, Any] = SMALL["workload"] | {
        "clients": {"publishers": 2, "subscribers": 4, "topics": 2, "apart": True},
        "guarantee": GUARANTEES[subscription],
        "away": {"at_s": 1.2, "lasts_s": 1.3},
    }
    window = {"warmup_s": 0.3, "window_s": 6, "drain_s": 8}
    trial, verdict, _ = run(tmp_path, stack="activemq-openwire", network=str(profile), workload=workload, window=window)
    assert "servers_alive" not in " ".join(verdict.reasons())
    consumers = trial.manifest().workload.consumers
    assert [len(one.absences) for one in consumers] == [1] * len(consumers)
    assert all(one.absences[0].back_ns is not None for one in consumers)
    found = metrics_of(trial)
    assert found["not_back"] == 0
    noisy = machines(failed(verdict))  # then somebody may have gone late, when the link was light again
    assert found["interruptions"] == len(consumers) or noisy
    # Out of reach for 1.5 s at 20 messages per second and publisher.
    missed = 1.3 * 20 * len(consumers)
    if subscription == "durable":
        assert found["lost"] == 0
        assert found["held_up"] >= 0.7 * missed or noisy
    else:
        assert found["lost"] >= 0.7 * missed or noisy
    assert 0 < found["back_after_s"] <= found["caught_up_after_s"]
