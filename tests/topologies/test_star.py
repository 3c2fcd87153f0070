from __future__ import annotations

import contextlib
import os
import socket
import struct
from pathlib import Path

import psutil
import pytest

from emulation.kernel.namespace import KernelError, in_namespace, read_sysctl
from emulation.kernel.offloads import still_on
from emulation.proof.probe import MIN_FRAME, probe_path
from topologies.star import MAX_STATIONS, star

pytestmark = [pytest.mark.root]


def namespaces() -> set[str]:
    """Network namespaces of the processes that this one started."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/{child.pid}/ns/net"))
    return found


def test_every_station_reaches_the_server_and_back() -> None:
    with star(stations=5, congestion_control="reno") as network:
        server = network.servers[0]
        for station in network.stations:
            for one, other in ((station, server), (server, station)):
                with probe_path(from_pid=one.pid, to_pid=other.pid, to_address=other.address) as path:
                    path.wait(0.5)
                    assert len(path.send([MIN_FRAME] * 3).number) == 3


def test_no_packet_is_flooded_to_a_station_that_it_is_not_for() -> None:
    with star(stations=3, congestion_control="reno") as network:
        server, first, second = network.servers[0], network.stations[0], network.stations[1]
        with probe_path(from_pid=first.pid, to_pid=server.pid, to_address=server.address) as path:
            path.wait(0.3)
            path.send([MIN_FRAME] * 50)
        assert in_namespace(second.pid, lambda: _received(second.interface)) == 0


def _received(interface: str) -> int:
    for line in Path("/proc/thread-self/net/dev").read_text().splitlines():
        if line.strip().startswith(f"{interface}:"):
            return int(line.split(":")[1].split()[1])
    raise AssertionError(f"no interface {interface}")


def test_offloads_are_off_and_the_congestion_control_is_set_everywhere() -> None:
    with star(stations=2, congestion_control="reno") as network:
        for node in network.nodes:
            assert in_namespace(node.pid, lambda node=node: still_on(node.interface)) == []
            assert in_namespace(node.pid, lambda: read_sysctl("net.ipv4.tcp_congestion_control")) == "reno"
        for port in (network.ports.wired, *network.ports.stations.values()):
            assert in_namespace(network.ports.pid, lambda port=port: still_on(port)) == []


def test_settings_of_tcp_hold_in_every_node_and_nowhere_else() -> None:
    name = "net.ipv4.tcp_recovery"
    before = read_sysctl(name)
    with star(stations=1, congestion_control="reno", sysctls={name: "0"}) as network:
        assert [in_namespace(node.pid, lambda: read_sysctl(name)) for node in network.nodes] == ["0", "0"]
        assert read_sysctl(name) == before != "0"


def test_a_scenarios_setting_of_tcp_stands_above_our_own() -> None:
    name = "net.ipv4.tcp_no_metrics_save"
    for own, held in (({}, "1"), ({name: "0"}, "0")):
        with star(stations=1, congestion_control="reno", sysctls=own) as network:
            assert [in_namespace(node.pid, lambda: read_sysctl(name)) for node in network.nodes] == [held, held]


def test_a_setting_that_the_kernel_lacks_is_named() -> None:
    with (
        pytest.raises(KernelError, match=r"net\.ipv4\.tcp_telepathy"),
        star(stations=1, congestion_control="reno", sysctls={"net.ipv4.tcp_telepathy": "1"}),
    ):
        pass


def test_a_datagram_that_its_sender_leaves_uncut_is_cut_before_it_meets_the_link() -> None:
    """UDP segmentation offload, which QUIC uses, has a switch of its own."""
    with star(stations=1, congestion_control="reno") as network:
        server, station = network.servers[0], network.stations[0]
        before = in_namespace(server.pid, lambda: _received(server.interface))
        with in_namespace(station.pid, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
            cut = (socket.SOL_UDP, 103, struct.pack("=H", 100))  # UDP_SEGMENT of linux/udp.h
            sender.sendmsg([bytes(1000)], [cut], 0, (server.address, 9))
        assert in_namespace(server.pid, lambda: _received(server.interface)) - before == 10


def test_two_networks_at_once_do_not_meet() -> None:
    with star(stations=1, congestion_control="reno") as one, star(stations=1, congestion_control="reno") as other:
        assert one.servers[0].address == other.servers[0].address
        with probe_path(
            from_pid=one.stations[0].pid, to_pid=one.servers[0].pid, to_address=one.servers[0].address
        ) as path:
            path.wait(0.3)
            assert len(path.send([MIN_FRAME] * 3).number) == 3
        assert in_namespace(other.servers[0].pid, lambda: _received("server-eth")) == 0


def fail_inside(links: list[str], before: set[str]) -> None:
    with star(stations=2, congestion_control="reno"):
        assert sorted(os.listdir("/sys/class/net")) == links
        assert len(namespaces() - before) == 4
        raise RuntimeError("on the way")


def test_nothing_is_left_behind_and_nothing_was_made_in_the_first_namespace() -> None:
    links, before = sorted(os.listdir("/sys/class/net")), namespaces()
    limits = read_sysctl("fs.file-max"), read_sysctl("net.core.rmem_max")
    with pytest.raises(RuntimeError, match="on the way"):
        fail_inside(links, before)
    assert namespaces() - before == set()
    assert (read_sysctl("fs.file-max"), read_sysctl("net.core.rmem_max")) == limits


@pytest.mark.parametrize("stations", [0, -1, MAX_STATIONS + 1])
def test_an_impossible_number_of_stations_is_refused(stations: int) -> None:
    with pytest.raises(ValueError, match=f"not {stations}"), star(stations=stations, congestion_control="reno"):
        pass
