"""The key `nodes` of scenarios: what is refused, at which line, and what campaigns keep of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lab_runs import SMALL

from experiments.scenario.scenario import ScenarioError, load
from experiments.scenario.settings import from_campaign

TWO_SERVERS = {"topology": {"kind": "star", "servers": 2}}
TREE = {"topology": {"kind": "tree", "servers": 3, "link": "wireline-10m"}}
CHAIN = {"topology": {"kind": "chain", "link": "wireline-10m", "routers": 1}}
PEERS = {"stack": "reference-peers", "topology": "peers"}
TWO_TOPICS = {"workload": SMALL["workload"] | {"clients": {"publishers": 2, "subscribers": 2, "topics": 2}}}
MARKS = {"zeromq": {"send_high_water": 100, "receive_high_water": 100}}
SHARED = {"pattern": "stream", "clients": {"shape": "shared", "flows": 3, "receivers": 2}, "body_bytes": 100}
CLIENTS = {"stack": "zeromq", "topology": "peers", "knobs": MARKS}


def scenario(folder: Path, *events: dict[str, Any], **settings: Any) -> Path:
    """The events begin at the first line, one a line."""
    path = folder / "scenario.yaml"
    lines = ["nodes:", *(f"  - {{{', '.join(f'{key}: {value}' for key, value in one.items())}}}" for one in events)]
    path.write_text("\n".join(lines) + "\n" + yaml.safe_dump({**SMALL, "stations": 3, **settings}))
    return path


def event(at_s: float, node: str, what: str) -> dict[str, Any]:
    return {"at_s": at_s, "node": node, "event": what}


def test_nobody_goes_where_streams_share_receivers(tmp_path: Path) -> None:
    path = scenario(tmp_path, event(1, "sta1", "kill"), stack="reference", workload=SHARED)
    with pytest.raises(ScenarioError, match=r":1: nodes: clients of shape: shared take none: a stream whose"):
        load(path)


def test_events_are_no_factor_and_the_campaign_keeps_them(tmp_path: Path) -> None:
    path = scenario(tmp_path, event(1, "sta1", "kill"), event(0.5, "sta2", "vanish"))
    (cell,) = load(path).cells
    assert [one.node for one in cell.settings.nodes] == ["sta1", "sta2"]
    assert from_campaign(cell.meaning["settings"]) == cell.settings


def test_a_scenario_without_events_is_kept_as_ever(tmp_path: Path) -> None:
    (cell,) = load(scenario(tmp_path, event(1, "sta1", "kill"))).cells
    without = cell.settings.model_copy(update={"nodes": ()})
    assert "nodes" not in without.model_dump(mode="json")


@pytest.mark.parametrize(
    ("one", "settings", "says"),
    [
        (event(2, "sta1", "kill"), {}, "nodes.at_s: 2 s is not inside the window, which lasts 2 s"),
        (event(-1, "sta1", "kill"), {}, "nodes.at_s: -1: has to be 0 or more"),
        (event(1, "sta1", "sleep"), {}, "nodes.event: 'sleep': has to be 'kill', 'vanish' or 'join'"),
        (event(1, "sta9", "kill"), {}, "nodes.node: 'sta9' is no node of this topology: use one of sta1, sta2, sta3"),
        (event(1, "server", "kill"), {}, "nodes.node: 'server' has no service of the stack, or is the only server"),
        (event(1, "server1", "join"), TWO_SERVERS, "nodes.event: 'join' of server1 at 1 s: clients of sta"),
        (event(1, "server2", "join"), TREE, "nodes.event: 'join' of server2 at 1 s: clients of sta1"),
        (event(1, "sta5", "kill"), {"stations": 5}, "nodes.node: 'sta5' has no clients, so nothing would happen"),
        (event(1, "r1", "kill"), CHAIN, "nodes.event: 'kill' of r1 at 1 s: a router has no process of the load"),
        (event(1, "r1", "join"), CHAIN, "nodes.event: 'join' of r1 at 1 s: routers are there from the start"),
        (event(1, "sta3", "join"), PEERS | TWO_TOPICS, "nodes.event: 'join' of sta3 at 1 s: clients of sta"),
        (event(1, "sta1", "join"), CLIENTS, "nodes.event: 'join' of sta1 at 1 s: stack 'zeromq' is in clients that"),
        (event(1, "sta1", "kill") | {"evnt": 1}, {}, "nodes.evnt: unknown key; did you mean 'event'?"),
    ],
)
def test_what_cannot_be_is_refused_at_its_line(
    tmp_path: Path, one: dict[str, Any], settings: dict[str, Any], says: str
) -> None:
    path = scenario(tmp_path, event(0.5, "sta2", "kill"), one, **settings)
    with pytest.raises(ScenarioError) as refused:
        load(path)
    assert f"{path}:3: {says}" in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"workload": SMALL["workload"] | {"away": {"at_s": 0.5, "lasts_s": 0.5}}},
            "workload.away takes subscribers off as well",
        ),
    ],
)
def test_what_events_do_not_go_together_with_is_told(tmp_path: Path, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        load(scenario(tmp_path, event(1, "sta1", "kill"), **settings))


def test_the_server_of_another_topology_may_go(tmp_path: Path) -> None:
    (cell,) = load(scenario(tmp_path, event(1, "server2", "vanish"), **TWO_SERVERS)).cells
    assert cell.settings.nodes[0].node == "server2"


ZEROMQ = {
    "stack": "zeromq",
    "knobs": {"zeromq": {"send_high_water": 1000, "receive_high_water": 1000}},
    "workload": SMALL["workload"] | {"ack": "none"},
}


def test_where_clients_speak_to_each_other_a_station_can_vanish_and_come_back(tmp_path: Path) -> None:
    events = (event(0.5, "sta2", "vanish"), event(1, "sta2", "join"))
    (cell,) = load(scenario(tmp_path, *events, **ZEROMQ)).cells
    assert [one.event for one in cell.settings.nodes] == ["vanish", "join"]


def test_who_joins_late_needs_a_channels_home_that_is_there(tmp_path: Path) -> None:
    three = {"workload": SMALL["workload"] | {"clients": {"publishers": 1, "subscribers": 3, "topics": 1}}}
    load(scenario(tmp_path, event(1, "sta3", "join"), **PEERS | three))
    events = (event(0.5, "sta2", "kill"), event(1, "sta3", "join"))
    with pytest.raises(ScenarioError, match=r"'join' of sta3 at 1 s: its clients need sta2, which is gone since 0.5"):
        load(scenario(tmp_path, *events, **PEERS | three))
