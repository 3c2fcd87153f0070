"""Trials over several segments: each link is proven by itself, and every path as their sum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lab_runs import assert_sound, lab, scenario_file

from analysis.trial import reduce_trial
from emulation.link import features
from emulation.plan.stages import LINE
from experiments.campaign import campaign as campaigns
from records.ledger import reconcile
from records.store import Trial, trials

pytestmark = [pytest.mark.root, pytest.mark.alone]

AIR = {"rate": "11 Mbit/s", "delay": "2 ms", "loss": 0.02, "medium": "shared"}
WIRE = {"rate": "20 Mbit/s", "delay": "5 ms", "loss": 0.01, "medium": "duplex"}


def ran(folder: Path, **settings: Any) -> Trial:
    available = features.probe()
    if lacks := [f"{feature}: {available[feature]}" for feature in LINE if available[feature]]:
        pytest.skip(f"no line here ({', '.join(lacks)})")
    for name, profile in (("air", AIR), ("wire", WIRE)):
        about = {"name": name, "description": "for tests", "source": "made for tests"}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(about | profile))
    scenario = scenario_file(folder, network="air.yaml", **settings)
    done = lab("run", scenario, "--medium", "line", "--no-report", results=folder / "results")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    (campaign,) = campaigns.folders(folder / "results")
    (trial,) = trials(campaign)
    assert_sound(trial.verdict())
    manifest = trial.manifest()
    found = reconcile(trial.table("published"), trial.table("delivered"), manifest.workload.audiences)
    assert found.closes
    assert found.delivered > 0
    return trial


def test_a_chain_is_proven_hop_by_hop_and_as_a_whole(tmp_path: Path) -> None:
    trial = ran(tmp_path, stations=1, topology={"kind": "chain", "routers": 2, "link": "wire.yaml"})
    proof, manifest = trial.link(), trial.manifest()
    assert [one.segment for one in proof.segments] == ["medium", "link1", "link2"]
    assert [one.profile for one in proof.segments] == ["air", "wire", "wire"]
    paths = [one for one in proof.checks if "over medium, link1, link2" in one.detail or "link1, medium" in one.detail]
    assert [one.direction for one in paths] == ["uplink", "downlink"]
    for path in paths:
        assert 0.012 < path.asked < path.delivered < path.high < 0.016
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
    assert {"queue:air", "queue:link1/uplink-0", "queue:link2/downlink-0", "line", "line:link1"} <= subjects
    assert least_known_s(trial) >= 0.023, "24 ms of delay; the kernel may know it by timestamps, to the millisecond"
    assert reduce_trial(trial.path, 0).num_rows, "a trial of several segments can be analysed"


def least_known_s(trial: Trial) -> float:
    connecting = trial.manifest().connecting
    assert connecting is not None
    return min(one.min_rtt_s for one in connecting.ends if one.min_rtt_s is not None)


def test_topics_are_spread_over_the_servers_of_a_star(tmp_path: Path) -> None:
    trial = ran(tmp_path, topology={"kind": "star", "servers": 2})
    manifest, proof = trial.manifest(), trial.link()
    assert [node.name for node in manifest.nodes if node.role == "server"] == ["server1", "server2"]
    assert (proof.segment, proof.further) == ("", ()), "one medium, as ever"
    subjects = set(trial.table("resources").column("subject").to_pylist())
    assert {one for one in subjects if one.startswith("server:")} == {
        "server:reference@server1", "server:reference@server2",
    }  # fmt: skip
    clients = [*manifest.workload.producers, *manifest.workload.consumers]
    assert {one.topic for one in clients} == {0, 1}


@pytest.mark.parametrize(
    ("topology", "segments"),
    [
        ({"kind": "cells", "cells": 2, "backbone": "wire.yaml"}, ["cell1", "cell2", "link1", "link2"]),
        ({"kind": "cells", "cells": 2, "translate": True}, ["cell1", "cell2"]),
        ({"kind": "tree", "servers": 3, "link": "wire.yaml"}, ["at-2", "at-3", "link2", "link3"]),
        ({"kind": "mesh", "servers": 2, "link": "wire.yaml"}, ["at-1", "at-2", "link1-2"]),
    ],
    ids=lambda one: "-".join(map(str, one.values())) if isinstance(one, dict) else "",
)
def test_other_topologies_carry_a_load(tmp_path: Path, topology: dict[str, Any], segments: list[str]) -> None:
    trial = ran(tmp_path, topology=topology)
    assert [one.segment for one in trial.link().segments] == segments
