"""Every topology stands: packets go where its plan says, and nowhere else."""

from __future__ import annotations

import itertools
from contextlib import ExitStack

import pytest
from shapes import EVERY, hop, plan_of, round_trip_s

from emulation.kernel.namespace import in_namespace, read_sysctl, run_tool
from emulation.kernel.offloads import still_on
from emulation.link.link import applied
from emulation.plan import linkplan
from emulation.profile.profile import LinkProfile
from emulation.proof import probe
from emulation.proof.probe import MIN_FRAME, probe_path
from topologies.build import built
from topologies.network import Network, Node, probe_ends

pytestmark = [pytest.mark.root, pytest.mark.link]


def arrive(sender: Node, receiver: Node, packets: int = 3, *, answers: bool = False) -> int:
    ends = {"from_pid": sender.pid, "to_pid": receiver.pid}
    with probe_path(**ends, to_address=receiver.address, answers=sender.address if answers else "") as path:
        path.wait(0.5)
        return len(path.send([MIN_FRAME] * packets).number)


@pytest.mark.parametrize("settings", EVERY, ids=str)
def test_every_station_and_every_server_reach_each_other(settings: dict[str, object]) -> None:
    with built(plan_of(**settings), congestion_control="reno") as network:
        for one, other in itertools.product(network.stations, network.servers):
            assert (arrive(one, other), arrive(other, one)) == (3, 3), (one.name, other.name)
        for segment in network.segments.values():
            for pid, port in segment.ends:
                assert in_namespace(pid, lambda port=port: still_on(port)) == []
        for node in network.nodes:
            assert in_namespace(node.pid, lambda: read_sysctl("net.ipv4.tcp_congestion_control")) == "reno"


def test_a_packet_takes_the_hops_of_its_path_and_each_router_is_one() -> None:
    with built(plan_of(1, kind="chain", routers=6, link="wire"), congestion_control="reno") as network:
        station, server = network.stations[0], network.servers[0]
        seen = [hop(station, server.address, number) for number in range(1, 8)]
        assert [owner(network, address) for address in seen] == ["r1", "r2", "r3", "r4", "r5", "r6", "server"]


def test_a_chain_of_six_routers_takes_the_sum_of_its_links() -> None:
    """Both ways 3 ms of the medium and 5 ms of each link: 66 ms, and half of that with half the delays.

    What 14 passages of a line take is this machine's, and in both: 0.05 to 0.08 ms each on a quiet one, so that ping
    shows 67 ms, and twice that on a busy one.
    """
    plan = plan_of(1, kind="chain", routers=6, link="wire")
    with built(plan, congestion_control="reno") as network:
        took = []
        for medium, link in (("1.5 ms", "2.5 ms"), ("3 ms", "5 ms")):
            with ExitStack() as shaped:
                for segment in network.emulated:
                    one = LinkProfile.model_validate(
                        {"name": "made", "description": "d", "source": "s", "medium": "duplex", "rate": "100 Mbit/s"}
                        | {"delay": medium if segment.plan.name == "medium" else link}
                    )
                    stations = list(segment.ports.stations)
                    asked = linkplan.plan(one, stations, seed=1, seconds=5, timeline_s=0, made_by="line")
                    shaped.enter_context(applied(asked, segment.ports))
                took.append(round_trip_s(network.stations[0], network.servers[0].address))
        assert took[1] - took[0] == pytest.approx(0.033, abs=0.001), took
        assert took[1] >= 0.066


def owner(network: Network, address: str) -> str:
    """Whose address that is; a host with several answers with one of its interfaces, or with its own."""
    there = {one.address: node.name for node in network.nodes for one in node.interfaces}
    return (there | {node.address: node.name for node in network.nodes}).get(address, address)


def test_a_translator_puts_its_own_address_on_what_leaves_a_cell_and_lets_nobody_in() -> None:
    with built(plan_of(2, kind="cells", cells=2, translate=True), congestion_control="reno") as network:
        station, server = network.stations[0], network.servers[0]
        assert arrive(station, server) == 3
        with pytest.raises(OSError, match="unreachable"):
            arrive(server, station)
        assert arrive(server, station, answers=True) == 3


def test_a_way_by_which_nothing_comes_cannot_be_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_KNOCKS", 2)
    with built(plan_of(2), congestion_control="reno") as network:
        station, server = network.stations[0], network.servers[0]
        run_tool(["ip", "link", "set", station.interfaces[0].name, "arp", "off"], pid=station.pid)
        with pytest.raises(TimeoutError, match=f"sent to {server.address} port {probe.PORT} in 0.4 s has come there"):
            arrive(server, station, answers=True)


def test_a_segment_is_probed_between_its_own_ends() -> None:
    plan = plan_of(1, kind="chain", routers=2, link="wire")
    with built(plan, congestion_control="reno") as network:
        ends = probe_ends(network, [("r1",)], "link1")[0]
        r1, r2 = network.node("r1"), network.node("r2")
        assert (ends.station_pid, ends.wired_pid) == (r1.pid, r2.pid)
        assert {ends.station_address, ends.wired_address} == {one.address for one in plan.on("link1")}


def test_peers_reach_each_other() -> None:
    with built(plan_of(2, kind="peers"), congestion_control="reno") as network:
        assert arrive(*network.stations) == 3
