"""Trials over several segments: each link is proven by itself, and every path as their sum."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from lab_runs import assert_sound, failed, scenario_file
from line_trials import lines_seen
from shown_scenarios import small
from trial_runs import run_file

from analysis.journey.parts import DIRECT, LATENCY, PARTS, RELAYED, halves, of_link, of_reply
from analysis.trial import reduce_trial
from emulation.link import features
from emulation.plan.stages import LINE
from emulation.profile.media import MediumName
from records.ledger import Reconciliation, reconcile
from records.store import Trial
from records.verdict import Check, Health

pytestmark = [pytest.mark.root]

AIR = {"rate": "11 Mbit/s", "delay": "2 ms", "loss": 0.02, "medium": "shared"}
WIRE = {"rate": "20 Mbit/s", "delay": "5 ms", "loss": 0.01, "medium": "duplex"}


_probed = cache(features.probe)


def skip_without_line() -> None:
    available = _probed()
    if lacks := [f"{feature}: {available[feature]}" for feature in LINE if available[feature]]:
        pytest.skip(f"no line here ({', '.join(lacks)})")


def assert_books_close(trial: Trial) -> Reconciliation:
    found = reconcile(trial.table("published"), trial.table("delivered"), trial.manifest().workload.audiences)
    assert found.closes
    assert found.delivered > 0
    return found


def ran(folder: Path, *, made_by: MediumName = "line", **settings: Any) -> Trial:
    """By tc without the air's delay, for which that would need netem."""
    if made_by == "line":
        skip_without_line()
    air = AIR if made_by == "line" else {key: value for key, value in AIR.items() if key != "delay"}
    for name, profile in (("air", air), ("wire", WIRE)):
        about = {"name": name, "description": "for tests", "source": "made for tests"}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(about | profile))
    scenario = scenario_file(folder, network="air.yaml", **settings)
    trial, verdict, _ = run_file(scenario, folder, made_by=made_by)
    assert_sound(verdict)
    assert_books_close(trial)
    return trial


def followed(trial: Trial, least: float = 0.95) -> set[str]:
    """The parts of nearly all of its deliveries, or answered requests; they sum to what these took."""
    rows = reduce_trial(trial.path, 0).to_pylist()
    assert not [row["text"] for row in rows if row["table"] in ("damage", "partial")]
    (share,) = [row["value"] for row in rows if (row["table"], row["metric"]) == ("trial", "journey_share")]
    assert share > least or Check.CAPTURE_DROPS in failed(trial.verdict()), [
        row["text"] for row in rows if (row["table"], row["metric"]) == ("journey", "why")
    ]
    mean = {row["metric"]: row["value"] for row in rows if (row["table"], row["key"]) == ("journey", "mean")}
    latency = mean.pop(LATENCY)
    assert sum(mean.values()) == pytest.approx(latency, rel=0.01)
    assert min(mean.values()) > -0.001
    return set(mean)


def shown(folder: Path, name: str, stack: str, servers: list[str], segments: list[str]) -> Trial:
    """A trial of the committed scenario, which lost nothing over these segments and servers."""
    skip_without_line()
    trial, verdict, _ = run_file(small(folder, name, stack=stack), folder, made_by="line")
    assert_sound(verdict)
    manifest, proof = trial.manifest(), trial.link()
    assert [one.segment or "medium" for one in proof.segments] == segments
    assert [node.name for node in manifest.nodes if node.role == "server"] == servers
    found = assert_books_close(trial)
    assert (found.lost, found.duplicates, found.refused) == (0, 0, 0)
    return trial


def test_a_chain_is_proven_hop_by_hop_and_as_a_whole(tmp_path: Path) -> None:
    with lines_seen() as lines:
        trial = ran(tmp_path, stations=1, topology={"kind": "chain", "routers": 2, "link": "wire.yaml"})
    assert len(lines) == 1, "one process makes all links, from the first proof to the drain's end"
    proof, manifest = trial.link(), trial.manifest()
    assert [one.segment for one in proof.segments] == ["medium", "link1", "link2"]
    assert [one.profile for one in proof.segments] == ["air", "wire", "wire"]
    paths = [one for one in proof.checks if "over medium, link1, link2" in one.detail or "link1, medium" in one.detail]
    assert [one.direction for one in paths] == ["uplink", "downlink"]
    for path in paths:
        assert 0.012 < path.asked < path.high < 0.016
        assert path.asked < path.delivered
        assert path.holds or Check.LINK_DELAY in failed(trial.verdict())
    for one in proof.segments:
        assert {"rate", "delay", "losses", "loss", "bypass"} <= {check.quantity for check in one.checks}
        assert {during.during for during in one.counters} == {"window", "trial"}
        assert all(queue.packets > 0 for queue in one.counters[1].queues)
    listed = [tuple(one.sha256 for one in segment.loss_lists) for segment in proof.segments]
    assert len(set(listed)) == 3, "each segment loses other packets"
    assert {node.name: node.role for node in manifest.nodes} == {
        "server": "server", "r1": "router", "r2": "router", "sta1": "station",
    }  # fmt: skip
    links = {one.port: one.link for one in manifest.captures}
    assert (links["wired-medium"], links["wired-link1"], links["port-link2"]) == ("", "link1", "link2")
    subjects = set(trial.table("resources").column("subject").to_pylist())
    assert {"queue:air", "queue:link1/uplink-0", "queue:link2/downlink-0"} <= subjects
    assert {one for one in subjects if one.startswith("line")} == {"line"}, "its process is one for all segments"
    assert least_known_s(trial) >= 0.023, "24 ms of delay; the kernel may know it by timestamps, to the millisecond"
    rows = reduce_trial(trial.path, 0).to_pylist()
    journey = {row["metric"]: row["value"] for row in rows if (row["table"], row["key"]) == ("journey", "mean")}
    assert sum(journey[part] for part in journey if part != LATENCY) == pytest.approx(journey[LATENCY], rel=0.01)
    for link in ("link1", "link2"):
        assert journey[of_link(link)] > 0.0099, "5 ms each way"
    assert journey["wire"] < journey[of_link("link1")], "what routers and cables take"


def least_known_s(trial: Trial) -> float:
    connecting = trial.manifest().connecting
    assert connecting is not None
    return min(one.min_rtt_s for one in connecting.ends if one.min_rtt_s is not None)


@pytest.mark.broker
def test_topics_are_spread_over_the_servers_of_a_star(tmp_path: Path) -> None:
    trial = shown(tmp_path, "star-of-servers", "activemq", ["server1", "server2"], ["medium"])
    manifest, proof = trial.manifest(), trial.link()
    assert (proof.segment, proof.further) == ("", ()), "one medium, as ever"
    subjects = set(trial.table("resources").column("subject").to_pylist())
    assert {one for one in subjects if one.startswith("server:")} == {
        "server:activemq@server1", "server:activemq@server2",
    }  # fmt: skip
    clients = [*manifest.workload.producers, *manifest.workload.consumers]
    assert {one.topic for one in clients} == {0, 1, 2, 3}


SHOWN = [
    pytest.param("cells", "activemq-openwire", ["server"], ["cell1", "cell2", "link1", "link2"],
                 marks=pytest.mark.broker),
    pytest.param("chain", "activemq", ["server"], ["medium", "link1"], marks=pytest.mark.broker),
    pytest.param("tree", "activemq", ["server1", "server2", "server3"], ["at-2", "at-3", "link2", "link3"],
                 marks=pytest.mark.broker),
    ("star-of-servers", "reference", ["server1", "server2"], ["medium"]),
    ("cells", "reference", ["server"], ["cell1", "cell2", "link1", "link2"]),
    ("chain", "reference", ["server"], ["medium", "link1"]),
    ("cells-translated", "reference", ["server"], ["cell1", "cell2"]),
    ("tree", "reference", ["server1", "server2", "server3"], ["at-2", "at-3", "link2", "link3"]),
    ("mesh", "reference", ["server1", "server2", "server3"],
     ["at-1", "at-2", "at-3", "link1-2", "link1-3", "link2-3"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "stack", "servers", "segments"), SHOWN)
def test_the_scenario_of_a_topology_carries_its_load(
    tmp_path: Path, name: str, stack: str, servers: list[str], segments: list[str]
) -> None:
    trial = shown(tmp_path, name, stack, servers, segments)
    if name == "tree" and stack == "reference":
        assert followed(trial) == {*PARTS, of_link("link2"), of_link("link3")}


@pytest.mark.parametrize(
    ("via", "path", "least_s", "pattern"),
    [
        ("access-point", ["downlink", "uplink"], 0.008, {"clients": {"publishers": 2, "subscribers": 4, "topics": 2}}),
        ("ad-hoc", ["uplink"], 0.004, {"pattern": "request_reply", "clients": {"callers": 2, "services": 2}}),
    ],
)
def test_stations_talk_to_services_on_each_other(
    tmp_path: Path, via: str, path: list[str], least_s: float, pattern: dict[str, Any]
) -> None:
    """Every station has a service; what both ways cost is known from proof, counters and connections."""
    work = {"body_bytes": 200, "loop": "open", "rate": 20} | pattern
    topology = {"kind": "peers", "via": via}
    trial = ran(tmp_path, stack="reference-peers", topology=topology, workload=work, group_frames=True)
    proof, manifest = trial.link(), trial.manifest()
    probed = [one for one in proof.checks if one.source == "probe"]
    assert {one.path for one in probed} == {"sta1 to sta2", "sta1 to all"}
    assert {"delay", "rate", "losses", "group", "group_air"} <= {one.quantity for one in probed}
    assert sorted(one.direction for one in proof.checks if one.quantity == "bypass") == path
    assert sorted(one.direction for one in proof.loss_lists) == path
    assert {node.role for node in manifest.nodes} == {"station"}
    assert {(one.side, one.node) for one in manifest.captures} == {
        ("station", "sta1"), ("client", "sta1"), ("station", "sta2"), ("client", "sta2"),
    }  # fmt: skip
    subjects = trial.table("resources").column("subject").to_pylist()
    assert {one for one in subjects if one.startswith("server:")} == {
        "server:reference-peers@sta1", "server:reference-peers@sta2",
    }  # fmt: skip
    assert least_s - 0.001 <= least_known_s(trial) < 1.5 * least_s + 0.005
    assert {log.name for log in (trial.path / "logs").glob("reference-peers@*")} == {
        "reference-peers@sta1.log", "reference-peers@sta2.log",
    }  # fmt: skip
    # About half of the requests go to a service on their caller's own station, and cross no link.
    requests = "pattern" in pattern
    found = followed(trial, least=0.1 if requests else 0.95)
    assert found == {*RELAYED, *(map(of_reply, RELAYED) if requests else ())}


TURNED = ("client", "recovery", *halves("air"), "receiver")


@pytest.mark.parametrize(
    ("pattern", "made_by", "parts"),
    [
        ({"clients": {"publishers": 2, "subscribers": 4, "topics": 1, "apart": True}, "ack": "none"}, "line", DIRECT),
        (
            {"pattern": "request_reply", "clients": {"callers": 2, "services": 2, "apart": True}},
            "tc",
            (*TURNED, *map(of_reply, TURNED)),
        ),
    ],
    ids=["topics", "requests"],
)
def test_clients_talk_to_each_other_without_a_server(
    tmp_path: Path, pattern: dict[str, Any], made_by: MediumName, parts: tuple[str, ...]
) -> None:
    """The ways between them are proven, their packets are known by their ports and followed, and nothing is lost."""
    work = {"body_bytes": 200, "loop": "open", "rate": 20} | pattern
    knobs = {"zeromq": {"send_high_water": 100, "receive_high_water": 100}}
    trial = ran(tmp_path, made_by=made_by, stack="zeromq", topology="peers", knobs=knobs, workload=work)
    assert {one.path for one in trial.link().checks if one.source == "probe"} == {"sta1 to sta2"}
    found = assert_books_close(trial)
    assert (found.lost, found.duplicates, found.foreign) == (0, 0, 0)
    clients = (*trial.manifest().workload.producers, *trial.manifest().workload.consumers)
    assert all(20_000 <= port < 20_010 for one in clients for port in one.ports)
    assert followed(trial) == set(parts)
    connecting = trial.manifest().connecting
    assert connecting is not None
    assert {one.station for one in connecting.ends} == {"sta1", "sta2"}
    (rtt,) = (one for one in trial.verdict().checks if one.check is Check.PATH_RTT)
    assert (rtt.health, rtt.measured) == (Health.PASSED, 0)
