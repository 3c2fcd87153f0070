"""Frames to a group by the line: who hears them and what they take of the air is as foretold, else found out."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from ipaddress import ip_interface
from typing import Any

import pytest
from emulated_links import broken, profile, until_it_holds
from shapes import plan_of

from emulation.kernel.namespace import in_namespace
from emulation.link.link import applied
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import Via
from emulation.proof.groupproof import foretold, probe_group
from records.link import LinkCheck
from topologies.build import built
from topologies.network import Network, station_ends
from topologies.peers import peers

pytestmark = [pytest.mark.root, pytest.mark.link]
STATIONS = ["sta1", "sta2", "sta3", "sta4"]
LOSSY = {"uplink": {"loss": 0.1}, "downlink": {"loss": 0.3}}
IP_MULTICAST_ALL = 49  # linux/in.h
IGMP_S = 2.5  # version 3 reports a membership twice, within a second each (RFC 3376, 8.1 and 8.11)


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with peers(stations=len(STATIONS), congestion_control="reno") as built:
        yield built


def planned(via: Via = "access-point", *, group_frames: bool = True, seed: int = 1, **settings: Any) -> LinkPlan:
    return linkplan.plan(
        profile(rate=2e6, **settings), STATIONS, seed=seed, seconds=10, timeline_s=10, made_by="line", via=via,
        group_frames=group_frames,
    )  # fmt: skip


def proven(network: Network, asked: LinkPlan, made: LinkPlan | None = None) -> list[LinkCheck]:
    with applied(made or asked, network.ports) as link:
        return list(probe_group(asked, link, station_ends(network, network.plan.emulated[0].name)))


@pytest.mark.parametrize("via", ["access-point", "ad-hoc"])
def test_on_a_shared_medium_each_takes_the_air_once_a_hop(network: Network, via: Via) -> None:
    plan = planned(via, medium="shared", stations={"sta3": {"downlink": {"loss": 0.5}}}, **LOSSY)
    checks = until_it_holds(lambda: proven(network, plan))
    assert broken(checks) == set()
    assert {one.quantity for one in checks} == {"group", "group_air"}
    assert 0 < checks[0].delivered < 20 * 3


def test_on_a_duplex_medium_each_copy_has_the_losses_of_its_receiver(network: Network) -> None:
    checks = until_it_holds(lambda: proven(network, planned(**LOSSY)))
    assert [(one.quantity, one.holds) for one in checks] == [("group", True)]


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ({"group_frames": False}, {"group_air"}),  # each copy is a frame of its own
        ({"seed": 7, "uplink": {"loss": 0.5}}, {"group", "group_air"}),
    ],
)
def test_a_medium_that_does_something_else_is_found_out(
    network: Network, made: dict[str, Any], found: set[str]
) -> None:
    asked = planned(medium="shared", uplink={"loss": 0.1})
    other = planned(**({"medium": "shared", "uplink": {"loss": 0.1}} | made))
    assert broken(proven(network, asked, other)) == found


def test_a_multicast_group_is_heard_by_its_members_over_one_crossing_of_the_air(network: Network) -> None:
    """RFC 1112.  The members join before the link is there, so that what IGMP says is not counted."""
    group, port = "224.7.7.7", 7008
    ends = station_ends(network, network.plan.emulated[0].name)

    def member(address: str) -> socket.socket:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind((group, port))
        one.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(address))
        one.settimeout(10)
        return one

    def sender(address: str) -> socket.socket:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
        return one

    members = {name: in_namespace(ends[name].pid, partial(member, ends[name].address)) for name in ("sta2", "sta3")}
    stranger = in_namespace(ends["sta4"].pid, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    stranger.bind((group, port))
    stranger.setblocking(False)
    stranger.setsockopt(socket.IPPROTO_IP, IP_MULTICAST_ALL, 0)  # as if nobody there had asked for it
    speaker = in_namespace(ends["sta1"].pid, partial(sender, ends["sta1"].address))
    time.sleep(IGMP_S)
    with applied(planned(medium="shared"), network.ports) as link:
        speaker.sendto(b"to the group", (group, port))
        assert {name: one.recv(100) for name, one in members.items()} == dict.fromkeys(members, b"to the group")
        assert sum(queue.packets for queue in link.queue_counts()) == 2, "once up, and once down for all"
    with pytest.raises(BlockingIOError):
        stranger.recv(100)
    for one in (*members.values(), stranger, speaker):
        one.close()


def test_frames_to_all_reach_every_server_behind_a_switch_and_come_from_each() -> None:
    port = 7009

    def hears() -> socket.socket:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        one.bind(("", port))
        one.settimeout(10)
        return one

    with built(plan_of(len(STATIONS), kind="star", servers=2), congestion_control="reno") as network:
        subnet = ip_interface(f"{network.servers[0].address}/16").network
        everybody = {node.name: in_namespace(node.pid, hears) for node in network.nodes}
        assert everybody.keys() == {"server1", "server2", *STATIONS}
        with applied(planned(medium="shared"), network.ports):
            for speaker in ("sta1", "server2"):
                everybody[speaker].sendto(speaker.encode(), (str(subnet.broadcast_address), port))
                for one in everybody.values():
                    while one.recv(100) != speaker.encode():  # who speaks hears itself
                        pass
        for one in everybody.values():
            one.close()


def test_damaged_frames_are_not_counted_on(network: Network) -> None:
    plan = planned(medium="shared", downlink={"corrupt": 0.2})
    (check,) = until_it_holds(lambda: proven(network, plan))
    assert check.low == 1
    assert 1 <= check.delivered <= 60


def test_a_single_station_has_nobody_to_send_to(network: Network) -> None:
    alone = replace(planned(medium="shared"), groups=(("sta1",),))
    with applied(planned(medium="shared"), network.ports) as link:
        ends = station_ends(network, network.plan.emulated[0].name)
        assert probe_group(alone, link, {"sta1": ends["sta1"]}) == ()


def test_what_is_heard_follows_from_the_lists() -> None:
    assert foretold(planned(medium="shared"), "sta1", STATIONS) == (20, 60)
    assert foretold(planned("ad-hoc", medium="shared"), "sta2", STATIONS) == (0, 60)
    lossy = planned(medium="shared", **LOSSY)
    lost = {one.name: set(one.indices.tolist()) for one in lossy.losses}
    came = len(set(range(20)) - lost["uplink"])
    assert foretold(lossy, "sta1", STATIONS) == (came, len(set(range(3 * came)) - lost["downlink"]))
    assert came < 20
