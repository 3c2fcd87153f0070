"""A stream of Iris over a link that loses packets and is gone for five seconds."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from lab_runs import assert_sound
from trial_runs import run

from records.ledger import reconcile

pytestmark = [pytest.mark.root]

LINK = {
    "name": "lossy-with-an-outage",
    "description": "for tests",
    "source": "made for tests",
    "medium": "duplex",
    "rate": "2 Mbit/s",
    "loss": 0.03,
    "timeline": [{"at": "1 s", "outage": "5 s"}],
}


@pytest.mark.parametrize("tunnel", ["acked", "direct"])
def test_no_message_of_a_tunnel_is_lost_or_out_of_order_over_losses_and_an_outage(tmp_path: Path, tunnel: str) -> None:
    (tmp_path / "link.yaml").write_text(yaml.safe_dump(LINK, sort_keys=False))
    trial, verdict, _ = run(
        tmp_path,
        network="link.yaml",
        topology="peers",
        stack="iris",
        knobs={"iris": {"splits": 1, "tunnel": tunnel}},
        workload={
            "pattern": "stream",
            "clients": {"flows": 1, "shape": "duplex"},
            "body_bytes": 200,
            "loop": "open",
            "rate": 20,
        },
        window={"warmup_s": 0.5, "window_s": 7, "drain_s": 30},
    )
    assert_sound(verdict)
    assert [event.label for event in trial.link().events] == ["outage begins", "outage ends"]
    found = reconcile(trial.table("published"), trial.table("delivered"), trial.manifest().workload.audiences)
    assert found.closes
    assert found.delivered == found.expected > 100
    assert (found.lost, found.duplicates, found.reordered, found.refused) == (0, 0, 0, 0)
