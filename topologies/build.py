"""Makes a plan real: a network namespace for every host, access point and switch, and cables between them.

Everything lives in namespaces of its own: nothing is made in the machine's, two networks cannot collide, and a
namespace takes everything with it when its last process ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

from pyroute2 import IPRoute

from emulation.kernel import filters, ipv6, qdisc
from emulation.kernel.accesspoint import Ports
from emulation.kernel.namespace import in_namespace, write_sysctl
from emulation.kernel.netlink import Netlink, neighbour, route
from emulation.kernel.nft import Nft
from emulation.kernel.offloads import turn_off
from emulation.kernel.wait_up import wait_until_up
from emulation.tc.shaper import index_of
from topologies.mininet_import import Host, Mininet, Switch
from topologies.network import BuiltSegment, Network, Node
from topologies.plan import Interface, Segment, TopologyPlan
from topologies.routes import Route, Routes

_NTF_MASTER, _NUD_STATIC = 0x04, 0x40  # linux/neighbour.h: NTF_MASTER, and NUD_NOARP, a static entry
_UP = "up"  # the port of a switch that leads to its access point
_BEHIND = "behind"  # the other end of the wired port of a medium whose wired side has nobody
# Beside what is for it, a router sends nothing of its own.
_ROUTER = {"net.ipv4.ip_forward": "1"} | {
    f"net.ipv4.conf.{which}.{what}": "0" for which in ("all", "default") for what in ("send_redirects", "rp_filter")
}
_TRANSLATION = """create table ip translator
table ip translator {{
chain leaving {{
type nat hook postrouting priority srcnat; policy accept;
oifname "{interface}" masquerade
}}
}}
"""


class Bridge(Switch):  # type: ignore[misc]
    """A bridge in a namespace of its own."""

    def start(self, controllers: object) -> None:
        """Mininet starts switches with controllers; a learning bridge has none and is built here."""

    def stop(self, deleteIntfs: bool = True) -> None:  # noqa: N803 - Mininet's name
        """The namespace takes the bridge along."""


@contextmanager
def built(
    plan: TopologyPlan, *, congestion_control: str, sysctls: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Network]:
    """Build a plan's network; all is gone when the context ends.

    congestion_control: TCP's, in every host; it must be allowed outside the first namespace (see
    emulation.kernel.congestion).  sysctls: TCP's other settings, full name to value, in every host; KernelError for one
    that the kernel refuses.
    """
    # Mininet's first network raises machine-wide limits by sysctl; ours must leave the machine as it was.
    Mininet.inited = True
    net = Mininet(topo=None, build=False, controller=None)
    try:
        yield _Builder(net, plan, {"net.ipv4.tcp_congestion_control": congestion_control, **sysctls}).network()
    finally:
        _dissolve(net)


class _Builder:
    def __init__(self, net: Any, plan: TopologyPlan, sysctls: Mapping[str, str]) -> None:
        self._net, self._plan, self._sysctls = net, plan, sysctls
        self._hosts: dict[str, Any] = {}
        self._segments: dict[str, BuiltSegment] = {}

    def network(self) -> Network:
        """Build it: cables first, so that what is set up next finds its neighbours."""
        plan = self._plan
        for host in plan.hosts:
            self._hosts[host.name] = self._made(self._net.addHost(host.name, cls=Host, ip=None))
            if plan.forwards(host.name):  # before it has interfaces, which take over what is set here
                in_namespace(self._hosts[host.name].pid, partial(_set, _ROUTER))
        for segment in plan.segments:
            self._segments[segment.name] = self._segment(segment)
        routes = Routes(plan)
        for name, host in self._hosts.items():
            in_namespace(host.pid, partial(self._set_up, name, tuple(routes.table(name))))
        for one in self._segments.values():
            for pid in dict.fromkeys(pid for pid, _ in one.ends):
                ports = [port for where, port in one.ends if where == pid]
                in_namespace(pid, partial(wait_until_up, ports, bridged=True))
        for name, host in self._hosts.items():
            in_namespace(host.pid, partial(wait_until_up, [one.name for one in plan.interfaces_of(name)]))
        for rule in plan.translators:
            (interface,) = (one for one in plan.interfaces_of(rule.router) if one.segment == rule.outside)
            with Nft(self._hosts[rule.router].pid) as nft:
                nft.run(_TRANSLATION.format(interface=interface.name))
        return Network(plan=plan, nodes=tuple(map(self._node, self._hosts)), segments=self._segments)

    def _made(self, node: Any) -> Any:
        """Before there are links: an interface with IPv6 sends reports of its own some time after it came up."""
        in_namespace(node.pid, ipv6.turn_off)
        return node

    def _node(self, name: str) -> Node:
        return Node(
            name=name,
            role=self._plan.role(name),
            pid=self._hosts[name].pid,
            address=self._plan.address(name),
            interfaces=self._plan.interfaces_of(name),
        )

    def _bridge(self, name: str) -> Any:
        number = len(self._net.switches) + 1
        return self._made(self._net.addSwitch(name, cls=Bridge, inNamespace=True, dpid=str(number)))

    def _segment(self, segment: Segment) -> BuiltSegment:
        """The access point of a segment with a profile, the switch of one without; both where many are wired."""
        plan, interfaces = self._plan, self._plan.on(segment.name)
        wired = [one for one in interfaces if one.host in segment.wired]
        if segment.profile is None:
            switch = self._bridge(f"sw-{segment.name}")
            for one in interfaces:
                self._cable(one, switch)
            in_namespace(switch.pid, lambda: _bridge({one.port: (one.mac,) for one in interfaces}, to_all=True))
            return BuiltSegment(plan=segment, ends=tuple((switch.pid, one.port) for one in interfaces))
        access_point, port = self._bridge(f"ap-{segment.name}"), plan.wired_port(segment)
        stations = [one for one in interfaces if one.host in segment.stations]
        for one in stations:
            self._cable(one, access_point)
        ends = [(access_point.pid, name) for name in (port, *(one.port for one in stations))]
        if len(wired) == 1:
            self._cable(wired[0], access_point)
        elif wired:
            ends += self._switch(segment, access_point, wired)
        macs = {port: tuple(one.mac for one in wired)} | {one.port: (one.mac,) for one in stations}
        if not wired:
            in_namespace(access_point.pid, lambda: _turn_at(port))
        in_namespace(access_point.pid, lambda: _bridge(macs))
        ports = Ports(
            pid=access_point.pid,
            stations={one.host: one.port for one in stations},
            wired=port,
            addresses={one.host: one.address for one in stations},
            macs={one.host: one.mac for one in stations},
            turns=not wired,
        )
        return BuiltSegment(plan=segment, ends=tuple(ends), access_point=ports)

    def _switch(self, segment: Segment, access_point: Any, wired: Sequence[Interface]) -> list[tuple[int, str]]:
        """The switch on an access point's wired side; its ports."""
        switch = self._bridge(f"sw-{segment.name}")
        self._net.addLink(switch, access_point, intfName1=_UP, intfName2=self._plan.wired_port(segment))
        for one in wired:
            self._cable(one, switch)
        behind = tuple(one.mac for one in self._plan.on(segment.name) if one not in wired)
        ports = {_UP: behind} | {one.port: (one.mac,) for one in wired}
        in_namespace(switch.pid, lambda: _bridge(ports, to_all=True))
        return [(switch.pid, name) for name in (_UP, *(one.port for one in wired))]

    def _cable(self, one: Interface, to: Any) -> None:
        self._net.addLink(self._hosts[one.host], to, intfName1=one.name, intfName2=one.port, addr1=one.mac)

    def _set_up(self, name: str, routes: Iterable[Route]) -> None:
        """In the host's namespace: its settings, its addresses, its neighbours, its routes."""
        plan = self._plan
        # What earlier connections taught the kernel about this path is not kept, unless the scenario says otherwise.
        _set({"net.ipv4.tcp_no_metrics_save": "1", **self._sysctls})
        mine = plan.interfaces_of(name)
        with IPRoute() as ip:
            loopback = index_of(ip, "lo")
            ip.link("set", index=loopback, state="up")
            if identity := plan.identity(name):
                ip.addr("add", index=loopback, address=identity, prefixlen=32)
            indices = {one.name: index_of(ip, one.name) for one in mine}
            for one in mine:
                turn_off(one.name)
                ip.addr(
                    "add", index=indices[one.name], address=one.address, prefixlen=plan.subnet(one.segment).prefixlen
                )
                ip.link("set", index=indices[one.name], state="up")
        with Netlink() as netlink:
            others = [(one, other) for one in mine for other in plan.on(one.segment) if other != one]
            netlink.request([neighbour(indices[one.name], other.address, other.mac) for one, other in others])
            netlink.request([route(one.to, one.via, indices[one.interface], source=one.source) for one in routes])


def _set(sysctls: Mapping[str, str]) -> None:
    for name, value in sysctls.items():
        write_sysctl(name, value)


def _bridge(ports: Mapping[str, Sequence[str]], *, to_all: bool = False) -> None:
    """In the bridge's namespace.  ports: each with the MAC addresses behind it.  to_all: whether frames to a group, or
    to all, go to every port.
    """
    with IPRoute() as ip:
        # No multicast querier, no spanning tree: the only packets on the medium are the experiment's.
        ip.link("add", ifname="bridge", kind="bridge", br_mcast_snooping=0, br_stp_state=0)
        bridge = index_of(ip, "bridge")
        for port, macs in ports.items():
            turn_off(port)
            index = index_of(ip, port)
            ip.link("set", index=index, master=bridge, state="up")
            # A bridge that learns floods what it has not learnt yet: copies that use up air and loss numbers.
            ip.brport("set", index=index, learning=0, unicast_flood=0, mcast_flood=to_all, bcast_flood=to_all)
            for mac in macs:
                ip.fdb("add", ifindex=index, lladdr=mac, flags=_NTF_MASTER, state=_NUD_STATIC)
        ip.link("set", index=bridge, state="up")


def _turn_at(port: str) -> None:
    """Make a port, in the access point's namespace, behind which frames turn round and come back in."""
    with IPRoute() as ip:
        ip.link("add", ifname=port, kind="veth", peer={"ifname": _BEHIND})
        turn_off(_BEHIND)
        behind = index_of(ip, _BEHIND)
        ip.link("set", index=behind, state="up")
    with Netlink() as netlink:
        qdisc.add(netlink, (behind, filters.hooks(_BEHIND)))
        netlink.request([filters.turn(behind)])


def _dissolve(net: Any) -> None:
    """End the nodes' shells; their namespaces go with them.  Mininet's own stop deletes link by link first."""
    for node in [*net.hosts, *net.switches]:
        node.terminate()
