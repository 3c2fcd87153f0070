"""A peer that vanishes is noticed after the stack's own keep-alive: in a real trial, by ZeroMQ's heartbeats."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import SMALL
from trial_runs import run

from analysis.trial import reduce_trial

pytestmark = pytest.mark.root

HEARTBEAT_S = 0.4


def test_the_other_end_is_given_up_after_the_heartbeats_and_the_trial_says_when(tmp_path: Path) -> None:
    trial, verdict, _ = run(
        tmp_path,
        stack="zeromq",
        topology="peers",
        stations=3,
        knobs={"zeromq": {"send_high_water": 1000, "receive_high_water": 1000, "heartbeat_s": HEARTBEAT_S}},
        workload=SMALL["workload"] | {"clients": {"publishers": 1, "subscribers": 3, "topics": 1}, "ack": "none"},
        window={"warmup_s": 0.3, "window_s": 3, "drain_s": 3},
        nodes=[{"at_s": 0.5, "node": "sta2", "event": "vanish"}],
    )
    manifest = trial.manifest()
    (vanish,) = manifest.node_events
    (one,) = manifest.half_open
    assert (one.node, one.since_ns, one.peer) == ("sta2", vanish.t_ns, "sta1")
    (publisher,) = manifest.workload.producers
    assert one.peer_port == publisher.sockets[0].port
    assert one.left_ns is not None
    # A ping that was due just before leaves its whole answer's time; the last one may be that long ago.
    assert one.left_ns - one.since_ns >= HEARTBEAT_S * 0.9e9
    (row,) = (row for row in reduce_trial(trial.path, 0).to_pylist() if row["metric"] == "noticed_after_s")
    assert row["text"] is None
    assert row["value"] == (one.left_ns - one.since_ns) / 1e9
    assert "connections" not in " ".join(verdict.reasons())
    t_recv, who = (trial.table("delivered").column(name).to_numpy() for name in ("t_recv_ns", "consumer"))
    (gone,) = (consumer.id for consumer in manifest.workload.consumers if consumer.node == "sta2")
    assert t_recv[who == gone].max() < t_recv[who != gone].max()
