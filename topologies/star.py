"""Stations on one access point, a server on its wired side, built with Mininet.

Every node, the access point included, lives in a network namespace of its own, and so do all links, queues and
rules: nothing is made in the machine's own namespace, two networks cannot collide, and a namespace takes
everything with it when its last process ends.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

from pyroute2 import IPRoute

from emulation import ipv6
from emulation.accesspoint import Ports
from emulation.linkstate import wait_until_up
from emulation.namespace import in_namespace, write_sysctl
from emulation.netlink import Netlink, neighbour
from emulation.offloads import turn_off
from emulation.shaper import index_of
from topologies.mininet_import import Host, Mininet, Switch
from topologies.network import Network, Node

SUBNET = ipaddress.ip_network("10.77.0.0/16")
MAX_STATIONS = 1000
_SERVER = "server"
_NTF_MASTER, _NUD_STATIC = 0x04, 0x40  # linux/neighbour.h: NTF_MASTER, and NUD_NOARP, a static entry


class AccessPoint(Switch):  # type: ignore[misc]
    """A bridge in a namespace of its own."""

    def start(self, controllers: object) -> None:
        """Mininet starts switches with controllers; a learning bridge has none and is built by `star`."""

    def stop(self, deleteIntfs: bool = True) -> None:  # noqa: N803 - Mininet's name
        """The namespace takes the bridge along."""


@contextmanager
def star(
    *, stations: int, congestion_control: str, sysctls: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Network]:
    """Build `stations` stations (1 to 1000) and one server; all is gone when the context ends.

    congestion_control: TCP's, in every node; it must be allowed outside the first namespace (see
    emulation.congestion).  sysctls: TCP's other settings, full name to value, in every node; KernelError for one that
    the kernel refuses.
    """
    if not 1 <= stations <= MAX_STATIONS:
        raise ValueError(f"a star has 1 to {MAX_STATIONS} stations, not {stations}")
    # Mininet's first network raises machine-wide limits by sysctl; ours must leave the machine as it was.
    Mininet.inited = True
    net = Mininet(topo=None, build=False, controller=None)
    try:
        yield _build(net, stations, {"net.ipv4.tcp_congestion_control": congestion_control, **sysctls})
    finally:
        _dissolve(net)


def _build(net: Any, stations: int, sysctls: Mapping[str, str]) -> Network:
    access_point = net.addSwitch("ap", cls=AccessPoint, inNamespace=True, dpid="1")
    names = [_SERVER, *(f"sta{number}" for number in range(1, stations + 1))]
    addresses = {name: str(SUBNET[number]) for number, name in enumerate(names, start=1)}
    macs = {name: f"02:77:00:00:{number >> 8:02x}:{number & 255:02x}" for number, name in enumerate(names, 1)}
    ports = {name: "wired" if name == _SERVER else f"port-{name}" for name in names}
    hosts = {name: net.addHost(name, cls=Host, ip=None) for name in names}
    for node in (access_point, *hosts.values()):
        # Before there are links: an interface with IPv6 sends reports of its own some time after it came up.
        in_namespace(node.pid, ipv6.turn_off)
    for name, host in hosts.items():
        net.addLink(host, access_point, intfName1=f"{name}-eth", intfName2=ports[name], addr1=macs[name])
    in_namespace(access_point.pid, lambda: _bridge({ports[name]: macs[name] for name in names}))
    for name, host in hosts.items():
        others = {addresses[other]: macs[other] for other in names if other != name}
        in_namespace(
            host.pid,
            partial(_host, f"{name}-eth", addresses[name], others, sysctls),
        )
    in_namespace(access_point.pid, lambda: wait_until_up(list(ports.values()), bridged=True))
    for name, host in hosts.items():
        in_namespace(host.pid, partial(wait_until_up, [f"{name}-eth"]))
    return Network(
        nodes=tuple(
            Node(
                name=name,
                role="server" if name == _SERVER else "station",
                pid=host.pid,
                address=addresses[name],
                interface=f"{name}-eth",
            )
            for name, host in hosts.items()
        ),
        ports=Ports(
            pid=access_point.pid,
            stations={name: port for name, port in ports.items() if name != _SERVER},
            wired=ports[_SERVER],
            addresses={name: address for name, address in addresses.items() if name != _SERVER},
            macs={name: mac for name, mac in macs.items() if name != _SERVER},
        ),
    )


def _bridge(stations: dict[str, str]) -> None:
    """stations: port to the MAC address at the other end of its cable."""
    with IPRoute() as ip:
        # No multicast querier, no spanning tree: the only packets on the medium are the experiment's.
        ip.link("add", ifname="bridge", kind="bridge", br_mcast_snooping=0, br_stp_state=0)
        bridge = index_of(ip, "bridge")
        for port, mac in stations.items():
            turn_off(port)
            index = index_of(ip, port)
            ip.link("set", index=index, master=bridge, state="up")
            # A bridge that learns floods what it has not learnt yet: copies that use up air and loss numbers.
            ip.brport("set", index=index, learning=0, unicast_flood=0, mcast_flood=0, bcast_flood=0)
            ip.fdb("add", ifindex=index, lladdr=mac, flags=_NTF_MASTER, state=_NUD_STATIC)
        ip.link("set", index=bridge, state="up")


def _host(interface: str, address: str, others: dict[str, str], sysctls: Mapping[str, str]) -> None:
    # Each trial starts without what earlier connections taught the kernel about this path, unless it says otherwise.
    for name, value in {"net.ipv4.tcp_no_metrics_save": "1", **sysctls}.items():
        write_sysctl(name, value)
    turn_off(interface)
    with IPRoute() as ip:
        index = index_of(ip, interface)
        ip.link("set", index=index_of(ip, "lo"), state="up")
        ip.addr("add", index=index, address=address, prefixlen=SUBNET.prefixlen)
        ip.link("set", index=index, state="up")
    with Netlink() as netlink:
        netlink.request([neighbour(index, other, mac) for other, mac in others.items()])


def _dissolve(net: Any) -> None:
    """End the nodes' shells; their namespaces go with them.  Mininet's own stop deletes link by link first."""
    for node in [*net.hosts, *net.switches]:
        node.terminate()
