"""A link that changes while it is in use: every change is made, recorded and judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from lab_runs import failed, lab, scenario_file

from experiments import campaign as campaigns
from results.store import trials
from results.verdict import Check

pytestmark = [pytest.mark.root]

PROFILE = {
    "name": "restless",
    "description": "for tests",
    "source": "made for tests",
    "medium": "shared",
    "rate": "2 Mbit/s",
    "loss": 0.01,
    "timeline": [
        {"at": "300 ms", "outage": "500 ms"},
        {"at": "1.1 s", "change": {"rate": "500 kbit/s", "loss": 0.0}},
        {"at": "1.5 s", "change": {"rate": "2 Mbit/s", "loss": 0.01}},
    ],
}


def test_a_timeline_is_played_recorded_and_judged(tmp_path: Path) -> None:
    (tmp_path / "link.yaml").write_text(yaml.safe_dump(PROFILE, sort_keys=False))
    done = lab("run", scenario_file(tmp_path, network="link.yaml"), "--no-report", results=tmp_path / "results")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    (folder,) = campaigns.folders(tmp_path / "results")
    (trial,) = trials(folder)
    proof, window = trial.link(), trial.manifest().window
    assert [event.label for event in proof.events] == [
        "outage begins",
        "outage ends",
        "rate 500 kbit/s, loss 0.0",
        "rate 2 Mbit/s, loss 0.01",
    ]
    for event in proof.events:
        assert event.t_ns >= window.start_ns + event.at_s * 1e9
    (change,) = [check for check in proof.checks if check.quantity == "change"]
    assert change.detail == "the latest of 4 changes; 4 were due"
    losses = [check.holds for check in proof.checks if check.quantity in ("loss", "losses")]
    assert all(losses) or Check.LINK_LOSS in failed(trial.verdict())
    bypass = {check.direction: check for check in proof.checks if check.quantity == "bypass"}
    assert set(bypass) == {"uplink", "downlink"}
    assert all(check.holds for check in bypass.values()), bypass
    whole = next(one for one in proof.counters if one.during == "trial")
    assert whole.dark
    assert sum(whole.dark.values()) > 0, "messages are sent into the outage, in both directions together"
    # Nothing crosses the dark link: what is handled in it had been sent before it began.
    sent_ns = {(row["producer"], row["seq"]): row["t_send_ns"] for row in trial.table("published").to_pylist()}
    delivered = trial.table("delivered").to_pylist()
    begins, ends = (event.t_ns for event in proof.events[:2])
    in_the_dark = [row for row in delivered if begins < row["t_recv_ns"] < ends]
    assert [row for row in in_the_dark if sent_ns[row["producer"], row["seq"]] > begins] == []
    assert any(row["t_recv_ns"] > ends for row in delivered)
    rates = [
        row["value"]
        for row in trial.table("resources").to_pylist()
        if (row["subject"], row["metric"]) == ("queue:air", "rate_bit_per_s")
    ]
    assert rates == [2e6, 5e5, 2e6]
