"""All that can happen to nodes, in real trials."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_runs import SMALL, assert_sound
from shown_scenarios import small
from trial_runs import run, run_file, sent_and_handled

from analysis.capture.reader import read_capture
from analysis.trial import reduce_trial
from records.latency import AT_LEAST
from records.manifest import Manifest
from records.store import Trial

pytestmark = pytest.mark.root

FIN_OR_RST = 0x05
EVENTS = [
    {"at_s": 1, "node": "sta2", "event": "kill"},
    {"at_s": 1.2, "node": "sta3", "event": "vanish"},
    {"at_s": 1.4, "node": "sta4", "event": "join"},
    {"at_s": 2.2, "node": "sta3", "event": "join"},
    {"at_s": 3, "node": "server2", "event": "kill"},
]
# Topic 0 of sta1 and sta3 is at home on server1, topic 1 of sta2 and sta4 on server2.
WORKLOAD: dict[str, Any] = SMALL["workload"] | {"clients": {"publishers": 4, "subscribers": 4, "topics": 2}}
WINDOW = {"warmup_s": 0.3, "window_s": 4, "drain_s": 5}


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trial, list[str]]:
    folder = tmp_path_factory.mktemp("nodes")
    found, verdict, _ = run(
        folder,
        stations=4,
        topology={"kind": "star", "servers": 2},
        workload=WORKLOAD,
        window=WINDOW,
        nodes=EVENTS,
    )
    return found, list(verdict.reasons())


def since_start(manifest: Manifest, t_ns: int) -> float:
    return (t_ns - manifest.window.start_ns) / 1e9


def test_every_event_took_effect_after_its_moment_and_is_recorded(trial: tuple[Trial, list[str]]) -> None:
    manifest = trial[0].manifest()
    found = manifest.node_events
    assert [one.model_dump(include={"at_s", "node", "event"}) for one in found] == EVENTS
    assert all(since_start(manifest, one.t_ns) >= one.at_s for one in found)
    assert [one.ready_ns is not None for one in found] == [False, False, True, False, False]


def test_a_broker_without_keep_alives_keeps_the_connections_of_who_vanished_until_it_is_back(
    trial: tuple[Trial, list[str]],
) -> None:
    manifest = trial[0].manifest()
    _, vanish, _, back, _ = (one.t_ns for one in manifest.node_events)
    ports = {socket.port for one in (*manifest.workload.producers, *manifest.workload.consumers)
             if one.node == "sta3" for socket in one.sockets}  # fmt: skip
    assert {(one.node, one.peer, one.port, one.left_ns) for one in manifest.half_open} == {
        ("sta3", "server1", port, None) for port in ports
    }
    assert {one.since_ns for one in manifest.half_open} == {vanish}
    assert all(one.until_ns <= back for one in manifest.half_open)
    (row,) = (row for row in reduce_trial(trial[0].path, 0).to_pylist() if row["metric"] == "noticed_after_s")
    assert row["text"] == AT_LEAST
    assert row["value"] == pytest.approx((manifest.half_open[0].until_ns - vanish) / 1e9, abs=0.1)


def test_who_is_gone_gets_nothing_and_is_back_when_it_joins(trial: tuple[Trial, list[str]]) -> None:
    manifest, table = trial[0].manifest(), trial[0].table("delivered")
    t_recv, who = table.column("t_recv_ns").to_numpy(), table.column("consumer").to_numpy()
    assert [one.node for one in manifest.workload.consumers] == ["sta1", "sta2", "sta3", "sta4"]
    kill, vanish, join, back, server = (one.t_ns for one in manifest.node_events)
    assert t_recv[who == 1].max() <= kill
    assert t_recv[who == 3].min() >= join
    assert sent_and_handled(trial[0], vanish, back - 50_000_000, consumers={2}) == []
    assert t_recv[who == 2].max() > back
    assert t_recv[who == 0].max() > server > t_recv[who == 3].max()
    assert [[absence.cause for absence in one.absences] for one in manifest.workload.consumers] == [
        [], ["kill"], ["vanish"], ["join"],
    ]  # fmt: skip


def test_what_was_planned_is_no_failure(trial: tuple[Trial, list[str]]) -> None:
    told = " ".join(trial[1])
    assert "servers_alive" not in told
    assert "ledger_closes" not in told


def test_the_report_says_what_happened_and_what_was_sent_to_whom_was_not_there(
    trial: tuple[Trial, list[str]],
) -> None:
    rows = reduce_trial(trial[0].path, 0).to_pylist()
    metrics = {row["metric"]: row["value"] for row in rows if row["table"] == "trial"}
    # To the killed one what the late one sent for 1.6 s, and to that what the killed one had sent for 1.3 s.
    assert metrics["absent"] >= 0.7 * 20 * 2.9
    assert metrics["lost"] == 0
    assert [row["text"] for row in rows if row["table"] == "event"] == [
        "sta2: kill", "sta3: vanish", "sta4: join", "sta3: join", "server2: kill",
    ]  # fmt: skip


def sent_by(trial: Trial, station: str) -> tuple[np.ndarray, np.ndarray]:
    """Times (CLOCK_MONOTONIC ns) and TCP flags of a station's own packets, where they come to the access point."""
    manifest = trial.manifest()
    (one,) = (one for one in manifest.captures if one.side == "station" and one.node == station)
    (address,) = (int(IPv4Address(node.address)) for node in manifest.nodes if node.name == station)
    packets = read_capture(trial.path / one.file).tcp
    mine = packets.src == address
    return packets.t_ns[mine] - manifest.clock_offset_ns, packets.flags[mine]


def test_who_vanishes_says_nothing_and_who_is_killed_says_good_bye(trial: tuple[Trial, list[str]]) -> None:
    kill, vanish, _, back, _ = (one.t_ns for one in trial[0].manifest().node_events)
    t_ns, flags = sent_by(trial[0], "sta3")
    assert not np.any((t_ns > vanish) & (t_ns < back - 50_000_000))
    assert not np.any((flags & FIN_OR_RST > 0) & (t_ns < back))
    t_ns, flags = sent_by(trial[0], "sta2")
    assert np.any((flags & FIN_OR_RST > 0) & (abs(t_ns - kill) < 10**9))
    assert not np.any((flags & FIN_OR_RST > 0) & (t_ns < kill - 10**9))


def test_the_scenario_that_shows_it_comes_to_its_end_with_what_it_says(tmp_path: Path) -> None:
    file = small(tmp_path, "nodes", stack="reference", window={"warmup_s": 0.3, "window_s": 8, "drain_s": 3})
    trial, verdict, _ = run_file(file, tmp_path)
    assert_sound(verdict)
    assert [(one.at_s, one.node, one.event) for one in trial.manifest().node_events] == [
        (3, "sta2", "kill"), (4, "sta3", "vanish"), (5, "sta4", "join"), (7, "sta3", "join"),
    ]  # fmt: skip


def test_a_station_dies_with_its_service_and_the_others_go_on(tmp_path: Path) -> None:
    """Topic 0 is at home on sta2, and topic 1 on sta3, where nothing happens."""
    trial, verdict, _ = run(
        tmp_path,
        stations=4,
        stack="reference-peers",
        topology="peers",
        workload=WORKLOAD,
        window={"warmup_s": 0.3, "window_s": 3, "drain_s": 3},
        nodes=[{"at_s": 1, "node": "sta2", "event": "kill"}, {"at_s": 1.2, "node": "sta1", "event": "vanish"}],
    )
    manifest, table = trial.manifest(), trial.table("delivered")
    assert "servers_alive" not in " ".join(verdict.reasons())
    t_recv, who = table.column("t_recv_ns").to_numpy(), table.column("consumer").to_numpy()
    killed, vanished = (one.t_ns for one in manifest.node_events)
    at = {(one.node, one.topic): one.id for one in manifest.workload.consumers}
    assert sent_and_handled(trial, killed, consumers={at["sta1", 0], at["sta3", 0]}) == []
    assert t_recv[who == at["sta2", 1]].max() <= killed
    assert t_recv[who == at["sta4", 1]].max() > vanished + 10**9


def test_a_node_of_an_overlay_that_joins_is_reached_and_hears_what_is_sent_from_then_on(tmp_path: Path) -> None:
    trial, verdict, _ = run(
        tmp_path,
        stations=3,
        stack="iris",
        topology="peers",
        workload={
            "pattern": "broadcast",
            "clients": {"senders": 1, "members": 3, "groups": 1},
            "body_bytes": 100,
            "loop": "open",
            "rate": 20,
        },
        window={"warmup_s": 0.3, "window_s": 6, "drain_s": 3},
        nodes=[{"at_s": 1.5, "node": "sta3", "event": "join"}],
    )
    assert_sound(verdict)
    manifest, table = trial.manifest(), trial.table("delivered")
    (join,) = manifest.node_events
    assert join.ready_ns is not None
    own = {one.address: one.name for one in manifest.nodes}
    seen = {
        own[str(IPv4Address(int(end)))]: packets.t_ns[packets.src == end].min() - manifest.clock_offset_ns
        for one in manifest.captures if one.side == "station" and one.node == "sta3"
        for packets in [read_capture(trial.path / one.file).tcp]
        for end in np.unique(packets.src) if str(IPv4Address(int(end))) in own
    }  # fmt: skip
    assert seen["sta3"] >= join.t_ns, "nothing of it was on the air before"
    t_recv, who = table.column("t_recv_ns").to_numpy(), table.column("consumer").to_numpy()
    first = {one.node: t_recv[who == one.id].min() for one in manifest.workload.consumers}
    assert first["sta2"] < join.t_ns < first["sta3"] < manifest.window.end_ns
    assert [one.cause for c in manifest.workload.consumers if c.node == "sta3" for one in c.absences] == ["join"]


def test_a_router_that_vanishes_is_an_outage_of_the_way_over_it(tmp_path: Path) -> None:
    trial, verdict, _ = run(
        tmp_path,
        stations=1,
        topology={"kind": "chain", "routers": 1, "link": "wireline-10m"},
        window={"warmup_s": 0.3, "window_s": 4, "drain_s": 5},
        nodes=[{"at_s": 1, "node": "r1", "event": "vanish"}, {"at_s": 1.8, "node": "r1", "event": "join"}],
    )
    manifest = trial.manifest()
    told = " ".join(verdict.reasons())
    assert "servers_alive" not in told
    assert "ledger_closes" not in told
    gone, back = (one.t_ns for one in manifest.node_events)
    assert sent_and_handled(trial, gone, back) == []
    assert np.any(trial.table("delivered").column("t_recv_ns").to_numpy() > back)
