"""Frames of all kinds through the line, between real nodes: from station to station, to groups, IPv6, tags, ARP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from line_worlds import BROADCAST, Wire, between, frame, line, mac, numbers, wire

from emulation.profile.direction import FULL_FRAME
from emulation.proof.probe import MIN_FRAME
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root, pytest.mark.link]

IPV4, IPV6, ARP, LOCAL = 0x0800, 0x86DD, 0x0806, 0x88B5


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with star(stations=3, congestion_control="reno") as built:
        yield built


@pytest.fixture(name="nodes")
def raw_frames(network: Network) -> Iterator[Wire]:
    with wire(network) as found:
        yield found


def test_a_frame_from_station_to_station_pays_up_and_down(network: Network) -> None:
    """Twice the air of a shared medium, both delays, the losses of both directions."""
    lost = [{"model": "recorded", "packets": 50, "lost": (one,)} for one in (3, 5)]
    with (
        line(
            network, medium="shared", rate=1e6,
            uplink={"delay": 0.01, "loss": lost[0]}, downlink={"delay": 0.02, "loss": lost[1]},
        ) as link,
        between(network, "sta1", "sta2") as path,
    ):  # fmt: skip
        arrivals = path.send([FULL_FRAME] * 20, spacing_s=0.04)
        (air,) = link.queue_counts()
        counted = {one.direction: (one.seen, one.dropped) for one in link.loss_counts()}
    # The fourth is lost on its way up; of the others the sixth on its way down, which was the seventh.
    assert sorted(set(range(20)) - set(arrivals.number.tolist())) == [3, 6]
    assert counted == {"uplink": (20, 1), "downlink": (19, 1)}
    assert air.packets == 20 + 19
    took = (arrivals.received_ns - arrivals.sent_ns) / 1e9
    least = 2 * FULL_FRAME * 8 / 1e6 + 0.01 + 0.02
    assert least - 0.0005 < took.min() < least + 0.02, "another clock: the wall's, and the kernel's stamps"


def test_on_a_duplex_medium_a_frame_from_station_to_station_meets_both_queues(network: Network) -> None:
    with (
        line(network, uplink={"rate": 4e6}, downlink={"rate": 1e6}) as link,
        between(network, "sta1", "sta2") as path,
        between(network, "sta2", "sta1") as back,
    ):
        path.hand_over([FULL_FRAME] * 20)
        back.hand_over([FULL_FRAME] * 20)
        there, again = path.collect(20), back.collect(20)
        counts = {one.name: one.packets for one in link.queue_counts()}
    assert there.number.tolist() == again.number.tolist() == list(range(20))
    assert counts == {
        "uplink-0": 20,
        "downlink-0": 20,
        "uplink-1": 20,
        "downlink-1": 20,
        "uplink-2": 0,
        "downlink-2": 0,
    }
    for arrivals in (there, again):
        times = np.sort(arrivals.received_ns)
        rate = 19 * FULL_FRAME * 8 / ((times[-1] - times[0]) / 1e9)
        assert rate < 1.1e6, "the slower of the two"


def test_a_station_that_is_out_is_reached_by_no_other(network: Network) -> None:
    events = [{"at": 1, "outage": 1, "stations": ["sta2"]}]
    with line(network, timeline=events) as link, between(network, "sta1", "sta2", silence_s=0.2) as path:
        assert len(path.send([MIN_FRAME] * 5).number) == 5
        link.go_through([link.plan.steps[0].state])
        assert len(path.send([MIN_FRAME] * 5).number) == 0
        link.go_through([link.plan.steps[1].state])
        assert len(path.send([MIN_FRAME] * 5).number) == 5
        assert sum(link.stage_counts().dark.values()) == 5


def test_who_sends_to_all_is_heard_by_all_others_once(network: Network, nodes: Wire) -> None:
    with line(network, medium="shared", rate=10e6):
        nodes.send("sta1", frame(BROADCAST, "sta1", LOCAL, 1))
        nodes.send("server", frame(BROADCAST, "server", LOCAL, 2))
        nodes.send("sta2", frame(b"\x01\x00\x5e\x01\x02\x03", "sta2", LOCAL, 3))
        heard = {name: sorted(numbers(nodes.heard(name))) for name in ("server", "sta1", "sta2", "sta3")}
    assert heard == {"server": [1, 3], "sta1": [2, 3], "sta2": [1, 2], "sta3": [1, 2, 3]}


def test_arp_and_other_kinds_pass_pay_and_are_neither_numbered_nor_lost(network: Network, nodes: Wire) -> None:
    all_lost = {"model": "recorded", "packets": 2, "lost": (0, 1)}
    with line(network, rate=1e6, delay=0.005, loss=all_lost) as link:
        for number, kind in enumerate((ARP, LOCAL, IPV4)):
            nodes.send("sta1", frame(mac("server"), "sta1", kind, number))
            nodes.send("server", frame(mac("sta1"), "server", kind, number))
        assert numbers(nodes.heard("server")) == numbers(nodes.heard("sta1")) == [0, 1]
        counts = {one.name: one.packets for one in link.queue_counts()}
        assert (counts["uplink-0"], counts["downlink-0"]) == (3, 3)
        assert {one.direction: (one.seen, one.dropped) for one in link.loss_counts()} == {
            "uplink": (1, 1), "downlink": (1, 1),
        }  # fmt: skip


def test_packets_of_ipv6_are_numbered_with_those_of_ipv4(network: Network, nodes: Wire) -> None:
    third = {"model": "recorded", "packets": 50, "lost": (2,)}
    with line(network, rate=10e6, loss=third) as link:
        for number in range(6):
            nodes.send("sta1", frame(mac("server"), "sta1", IPV6 if number % 2 else IPV4, number))
        assert numbers(nodes.heard("server")) == [0, 1, 3, 4, 5]
        assert {one.seen for one in link.loss_counts() if one.direction == "uplink"} == {6}


def test_a_frame_with_a_vlan_tag_keeps_it_and_may_be_so_much_longer(network: Network, nodes: Wire) -> None:
    all_lost = {"model": "recorded", "packets": 2, "lost": (0, 1)}
    with line(network, rate=10e6, loss=all_lost) as link:
        nodes.send("sta1", frame(mac("server"), "sta1", IPV4, 1, FULL_FRAME, vlan=42))
        nodes.send("server", frame(mac("sta1"), "server", IPV4, 2, 200, vlan=7))
        (there,) = nodes.heard("server")
        (back,) = nodes.heard("sta1")
        assert (there.vlan, len(there.data), numbers([there])) == (42, FULL_FRAME, [1])
        assert (back.vlan, numbers([back])) == (7, [2])
        counts = {one.name: one.bytes for one in link.queue_counts()}
        assert (counts["uplink-0"], counts["downlink-0"]) == (FULL_FRAME + 4, 204)
        assert {one.seen for one in link.loss_counts()} == {0}, "what is tagged is no IP to the loss stage"
        assert link.late().too_large == 0


def test_a_damaged_frame_and_copies_arrive_as_their_fates_say(network: Network, nodes: Wire) -> None:
    with line(network, delay=0.005, duplicate=0.3, corrupt=0.3):
        for number in range(100):
            nodes.send("sta1", frame(mac("server"), "sta1", IPV4, number))
        heard = nodes.heard("server")
    whole = [one.data for one in heard if not any(one.data[18:])]
    assert 100 < len(heard) < 160, "some twice"
    assert 50 < len(whole) < len(heard), "some damaged, always behind the header"
    assert {one.data[:14] for one in heard} == {frame(mac("server"), "sta1", IPV4)[:14]}
