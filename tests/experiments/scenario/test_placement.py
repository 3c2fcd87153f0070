"""Services on servers, on every station and nowhere: whom clients are told of, and what cannot be placed."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import yaml
from lab_runs import SMALL
from unbuilt import unbuilt

from emulation.plan import linkplan
from emulation.profile.media import MediumName, Via
from emulation.profile.profile import LinkProfile
from experiments.scenario import placement, segments
from experiments.scenario.scenario import Scenario, ScenarioError, load
from experiments.scenario.settings import CaptureSettings, Settings
from experiments.trial.capturing import capture_plan
from experiments.trial.checks.path_rtt import least_path_rtt_s
from experiments.trial.connect_time import connect_time, connect_time_of
from stacks.driver import from_home
from stacks.null.driver import Null
from stacks.reference.driver import Reference, ReferencePeers
from topologies.kinds.cells import Cells
from topologies.kinds.peers import Peers
from topologies.kinds.star import Star

PEERS = Peers().plan(stations=3, network="air")
AIR = {"name": "air", "description": "d", "source": "s", "medium": "duplex", "rate": "1 Mbit/s"}


def scenario(folder: Path, **settings: Any) -> Scenario:
    path = folder / "scenario.yaml"
    given: dict[str, Any] = {"scenario": "small", "network": "nistnet-80211", "stack": "reference-peers"} | settings
    path.write_text(yaml.safe_dump(given | {key: SMALL[key] for key in SMALL if key not in given}, sort_keys=False))
    return load(path)


def settings_of(topics: int, stations: int = 3, **settings: Any) -> Settings:
    clients = {"publishers": topics, "subscribers": topics, "topics": topics}
    work = {"clients": clients, "body_bytes": 100}
    given = {"scenario": "s", "network": "air", "stations": stations, "stack": "reference-peers", "workload": work}
    return Settings.model_validate(given | settings)


def placed(stack: Reference | Null, plan: Any) -> list[str]:
    return [host for host, _ in placement.placed(plan, stack.services())]


def test_services_are_on_servers_on_every_station_or_nowhere() -> None:
    star = Star(servers=2).plan(stations=3, network="air")
    assert placed(Reference(), star) == ["server1", "server2"]
    assert placed(ReferencePeers(), star) == placed(ReferencePeers(), PEERS) == ["sta2", "sta3", "sta1"]
    assert placed(Null(), star) == placed(Null(), PEERS) == []


def test_channels_are_at_home_in_turn() -> None:
    at = ("a", "b", "c")
    assert [from_home(at, channel) for channel in (0, 1, 5)] == [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]
    assert from_home((), 1) == ()


def test_with_as_many_channels_as_stations_nobody_is_at_home() -> None:
    assert placement.ways(settings_of(3), PEERS) == (("sta1", "sta2"), ("sta2", "sta3"), ("sta3", "sta1"))


def test_who_is_at_home_has_no_way_over_the_medium() -> None:
    clients = {"publishers": 3, "subscribers": 3, "topics": 1}
    one = settings_of(1, workload={"clients": clients, "body_bytes": 100})
    assert placement.ways(one, PEERS) == (("sta1", "sta2"), ("sta3", "sta2"))


def test_where_services_speak_to_each_other_ways_are_between_any_two_stations() -> None:
    clients = {"callers": 1, "services": 1}
    work = {"pattern": "request_reply", "clients": clients, "body_bytes": 100}
    one = Settings.model_validate({"scenario": "s", "network": "air", "stations": 3, "stack": "iris", "workload": work})
    assert placement.ways(one, PEERS) == tuple(permutations(("sta1", "sta2", "sta3"), 2))


def test_for_servers_every_station_has_a_way_to_every_server() -> None:
    star = Star(servers=2).plan(stations=2, network="air")
    ways = placement.ways(settings_of(1, stack="reference", topology={"kind": "star", "servers": 2}), star)
    assert ways == tuple((station, server) for station in ("sta1", "sta2") for server in ("server1", "server2"))


def test_where_clients_talk_to_each_other_ways_are_from_producers_to_consumers_of_their_channel(tmp_path: Path) -> None:
    clients = {"publishers": 2, "subscribers": 4, "topics": 2}
    work = {"clients": clients, "body_bytes": 100, "ack": "none"}
    marks = {"send_high_water": 10, "receive_high_water": 10}
    given = {"stack": "zeromq", "knobs": {"zeromq": marks}, "topology": "peers", "workload": work}
    ways = placement.ways(scenario(tmp_path, **given, stations=3).settings, PEERS)
    assert ways == (("sta1", "sta3"), ("sta2", "sta1"))
    with pytest.raises(ScenarioError, match="stack 'zeromq' is in clients that speak to each other, and each is where"):
        scenario(tmp_path, **given, stations=2)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"stations": 1, "topology": "star"},
            "workload: stack 'reference-peers' has its services on stations, and each is where",
        ),
        ({"topology": {"kind": "cells"}}, ":4: topology: stack 'reference-peers' has its services on stations, which"),
        ({"topology": "star", "medium": "tc"}, ":5: medium: stack 'reference-peers' has its services on stations, and"),
        (
            {"topology": "star", "kernel": "lab"},
            ":5: kernel: stack 'reference-peers' has its services on stations, and",
        ),
        ({"topology": "peers", "stack": "activemq"}, ":4: topology: peers has no server, which stack 'activemq' needs"),
        ({"topology": "peers", "stations": 1}, ":4: topology: peers are 2 stations or more, not 1"),
    ],
    ids=str,
)
def test_what_cannot_be_placed_is_told_with_file_and_line(tmp_path: Path, settings: Any, told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(tmp_path, **settings)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'scenario.yaml'}:")


def test_between_stations_beside_a_wired_side_the_line_is_wanted() -> None:
    assert segments.wanted_medium(settings_of(3, topology="star")) == "line"
    assert segments.wanted_medium(settings_of(3, topology="peers")) == "auto"
    assert segments.wanted_medium(settings_of(3, topology="star", stack="reference")) == "auto"
    assert segments.wanted_medium(settings_of(3, topology="star", medium="tc", stack="reference")) == "tc"


def test_a_stack_without_services_needs_no_server(tmp_path: Path) -> None:
    assert not list(segments.problems(scenario(tmp_path, stack="null", topology="peers").settings))
    assert not placement.ways(settings_of(1, stack="null"), PEERS)


PAIR = {"body_bytes": 100}
QUEUE, STREAM = PAIR | {"pattern": "queue"}, PAIR | {"pattern": "stream"}


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (QUEUE | {"clients": {"senders": 1, "receivers": 1, "apart": True}}, "queue-0 has a sender on sta1 and a rec"),
        (QUEUE | {"clients": {"senders": 2, "receivers": 1}}, "queue-0 has a sender on sta2 and a receiver on sta1"),
        (PAIR | {"clients": {"publishers": 1, "subscribers": 2}}, "topic-0 has a publisher on sta1 and a subscriber"),
        (STREAM | {"clients": {"flows": 1}}, "stream-0 has a sender on sta1 and a receiver on sta2: use one station"),
    ],
)
def test_null_between_stations_is_refused_with_its_line(tmp_path: Path, work: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(tmp_path, stack="null", topology="peers", workload=work)
    where = f"{tmp_path / 'scenario.yaml'}:3: stack: 'null' delivers between clients of one station only, and "
    assert str(caught.value).startswith(where + told)


def test_null_serves_queues_whose_senders_have_a_receiver_on_their_station(tmp_path: Path) -> None:
    work = QUEUE | {"clients": {"senders": 1, "receivers": 2}}
    assert scenario(tmp_path, stack="null", topology="peers", workload=work).cells


@pytest.mark.parametrize(("via", "least_s"), [("access-point", 2 * (0.01 + 0.03)), ("ad-hoc", 2 * 0.01)])
def test_a_round_trip_meets_both_directions_or_each_senders_own(via: Via, least_s: float) -> None:
    profile = LinkProfile.model_validate(AIR | {"uplink": {"delay": 0.01}, "downlink": {"delay": 0.03}})
    network = unbuilt(2, {"kind": "peers", "via": via})
    plan = linkplan.plan(profile, ["sta1", "sta2"], seed=1, seconds=1, timeline_s=1, made_by="line", via=via)
    assert least_path_rtt_s({"medium": plan}, network, "sta1", ["sta2"]) == pytest.approx(least_s)


def test_connecting_by_an_access_point_may_take_twice_as_long() -> None:
    profile = LinkProfile.model_validate(AIR | {"delay": 0.3})
    direct, relayed = (settings_of(3, topology={"kind": "peers", "via": via}) for via in ("ad-hoc", "access-point"))
    once = connect_time(direct, profile, kernel="host")
    assert connect_time_of(direct, profile, {}, kernel="host") == once
    assert connect_time_of(relayed, profile, {}, kernel="host") == once + once


@pytest.mark.parametrize(
    ("made_by", "via", "turned"),
    [("tc", "access-point", True), ("tc", "ad-hoc", False), ("line", "access-point", False)],
)
def test_of_peers_the_stations_ports_are_recorded(made_by: MediumName, via: Via, *, turned: bool) -> None:
    """And the wired one, where frames come by it between their way up and their way down."""
    profile = LinkProfile.model_validate(AIR)
    link = linkplan.plan(profile, ["sta1", "sta2"], seed=1, seconds=1, timeline_s=1, made_by=made_by, via=via)
    plan = capture_plan(CaptureSettings(), [link], unbuilt(2, {"kind": "peers", "via": via}))
    assert [(one.point, one.node) for one in plan.places] == [
        *([("wired", "")] if turned else []),
        ("station", "sta1"), ("client", "sta1"), ("station", "sta2"), ("client", "sta2"),
    ]  # fmt: skip


def test_paths_between_cells_are_still_those_to_servers() -> None:
    plan = Cells(cells=2).plan(stations=2, network="air")
    assert placement.ways(settings_of(1, 2, stack="reference", topology="cells"), plan) == (
        ("sta1", "server"), ("sta2", "server"),
    )  # fmt: skip
