"""Applying a plan to an access point: the only place that changes queues and filters."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from emulation import disciplines, losstable, qdisc
from emulation.accesspoint import Ports
from emulation.direction import FULL_FRAME
from emulation.linkplan import LinkPlan, Queue, queues
from emulation.loss import Direction
from emulation.namespace import KernelError, in_namespace
from emulation.netlink import Netlink
from emulation.nft import Nft
from emulation.timeline import LinkState

_HOOK: dict[Direction, str] = {"uplink": "ffff:fff2", "downlink": "ffff:fff3"}  # clsact ingress and egress
_ETH_P_ALL, _ETH_P_IP = 0x0003, 0x0800
_ANY = "0x0/0x0+0"
_HOLDING_FRAME = bytes(12) + b"\x88\xb5" + bytes(FULL_FRAME - 14)  # IEEE 802: an ethertype for local experiments
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCount:
    """bytes and packets have left the queue, at layer 2; dropped found it full; backlog_bytes wait in it.

    Bytes are those of the frames alone: what a frame takes beside them is in results.airtime.
    """

    name: str
    bytes: int
    packets: int
    dropped: int
    backlog_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A change of a link, ready to be made.  losses: a program of nft.  holds: devices that keep what they have."""

    to: LinkState
    losses: str
    disciplines: tuple[tuple[int, qdisc.Discipline], ...]
    holds: tuple[str, ...]


class AppliedLink:
    """A plan in force.  Its counters start at zero, and those of its losses again with `renumber`."""

    def __init__(self, plan: LinkPlan, ports: Ports, nft: Nft) -> None:
        self.plan, self.ports, self.state = plan, ports, plan.first
        self.shaped = queues(plan)
        self._nft = nft

    def queue_counts(self) -> tuple[QueueCount, ...]:
        """Counters of every shaped queue."""
        return self.timed_queue_counts()[1]

    def timed_queue_counts(self) -> tuple[int, tuple[QueueCount, ...]]:
        """The moment (CLOCK_MONOTONIC, ns) and the counters of every shaped queue then."""
        return self.inside(lambda ip: (time.monotonic_ns(), self.read_queues(ip)))

    def read_queues(self, ip: IPRoute) -> tuple[QueueCount, ...]:
        """Counters of every shaped queue; `ip` is in the access point's namespace."""
        return tuple(_count(ip, queue, disciplines.counted(queue)) for queue in self.shaped)

    def loss_counts(self) -> tuple[losstable.LossCount, ...]:
        """Counters of the loss stage, in the order of the plan's losses."""
        return self.stage_counts().losses

    def stage_counts(self) -> losstable.StageCount:
        """All counters of the loss stage, and those of what came to it."""
        return losstable.read(self._nft, self.plan, self.ports)

    def renumber(self) -> None:
        """Count the packets of every loss list from zero again: what passed until now has no part in what follows."""
        self._nft.run(losstable.renumber(self.plan))

    def inside(self, work: Callable[[IPRoute], T]) -> T:
        """Do something with a netlink socket of the access point's namespace."""

        def run() -> T:
            with IPRoute() as ip:
                return work(ip)

        return in_namespace(self.ports.pid, run)

    def indices(self, ip: IPRoute) -> dict[str, int]:
        """Devices of the link's disciplines and their indices."""
        return {one.device: index_of(ip, one.device) for one in _all(self, self.state)}

    def prepare(self, indices: Mapping[str, int], before: LinkState, after: LinkState) -> Move:
        """What takes the link from one of its states to another.  indices: of its devices."""
        pairs = zip(_all(self, before), _all(self, after), strict=True)
        return Move(
            to=after,
            losses=losstable.change(self.plan, self.ports, before, after),
            disciplines=tuple((indices[new.device], new) for old, new in pairs if old != new),
            holds=tuple(queue.name for queue in self.shaped if queue.direction in after.holds),
        )

    def move(self, netlink: Netlink, move: Move) -> None:
        """Change the link in place; packets that wait or travel are not touched.

        netlink: a socket of the access point's namespace.
        """
        if move.losses:
            self._nft.run(move.losses)
        qdisc.change(netlink, *move.disciplines)
        for device in move.holds:
            _hold(device)
        self.state = move.to


@contextmanager
def applied(plan: LinkPlan, ports: Ports) -> Iterator[AppliedLink]:
    """Put a plan's link between the stations and the wired side for as long as the context lasts."""
    with ExitStack() as undo:
        nft = undo.enter_context(Nft(ports.pid))
        losstable.load(nft, plan, ports)
        undo.callback(losstable.unload, nft)
        link = AppliedLink(plan, ports, nft)
        undo.callback(link.inside, lambda ip: _remove(ip, link))
        link.inside(lambda ip: _build(ip, link))
        yield link


def _hold(device: str) -> None:
    """Use a queue's medium up: a frame that takes as long as nothing may pass goes before those that wait.

    It gets no farther than the device, which only passes on what was redirected to it.
    """
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as everything:
        everything.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, disciplines.HOLDING_CLASS)
        everything.sendto(_HOLDING_FRAME, (device, 0))


def redirect(ip: IPRoute, *, port: int, to: Mapping[Direction, int]) -> None:
    """Send what passes interface `port` through other interfaces: `to` maps a direction to an index."""
    ip.tc("add", "clsact", port)
    for direction, index in to.items():
        _lead(ip, port, index, _HOOK[direction], keys=[_ANY])


def index_of(ip: IPRoute, name: str) -> int:
    """Index of an interface in the namespace of `ip`; KernelError when there is none."""
    found = ip.link_lookup(ifname=name)
    if not found:
        raise KernelError(f"looking for interface {name}: there is none")
    return int(found[0])


def _lead(ip: IPRoute, port: int, to: int, hook: str, *, keys: Sequence[str], protocol: int = _ETH_P_ALL) -> None:
    ip.tc(
        "add-filter",
        "u32",
        port,
        parent=hook,
        protocol=protocol,
        target=0x10000,
        keys=list(keys),
        action=[{"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": to}],
    )


def _count(ip: IPRoute, queue: Queue, handles: Sequence[int]) -> QueueCount:
    totals = dict.fromkeys(("bytes", "packets", "dropped", "backlog_bytes"), 0)
    for one in ip.get_qdiscs(index=index_of(ip, queue.name)):
        if one["handle"] in handles:
            stats = one.get_attr("TCA_STATS2")
            basic, waiting = stats.get_attr("TCA_STATS_BASIC"), stats.get_attr("TCA_STATS_QUEUE")
            totals["bytes"] += basic["bytes"]
            totals["packets"] += basic["packets"]
            totals["dropped"] += waiting["drops"]
            totals["backlog_bytes"] += waiting["backlog"]
    return QueueCount(name=queue.name, **totals)


def _all(link: AppliedLink, state: LinkState) -> list[qdisc.Discipline]:
    """Every discipline of a state, in an order that is the same for all of a plan's states."""
    found = [one for queue in link.shaped for one in disciplines.of_queue(queue, state)]
    return found + [one for one, _ in disciplines.lates(link.plan, link.ports, state)]


def _build(ip: IPRoute, link: AppliedLink) -> None:
    ports, lates = link.ports, disciplines.lates(link.plan, link.ports, link.state)
    with _named("shaping the access point"):
        for device in _own_devices(link):
            ip.link("add", ifname=device, kind="ifb")
            ip.link("set", index=index_of(ip, device), state="up", txqlen=1000)
        indices = link.indices(ip)
        with Netlink() as netlink:
            qdisc.add(netlink, *((indices[one.device], one) for one in _all(link, link.state)))
        leads: dict[str, dict[Direction, int]] = {}
        for queue in link.shaped:
            index = index_of(ip, queue.name)
            if len(queue.groups) > 1:
                _classify(ip, index, link, queue)
            for station, direction in queue.hooks:
                leads.setdefault(station, {})[direction] = index
        for station, to in leads.items():
            redirect(ip, port=index_of(ip, ports.stations[station]), to=to)
        if any(stations for _, stations in lates):
            wired = index_of(ip, ports.wired)
            ip.tc("add", "clsact", wired)
            for one, stations in lates:
                for station in stations:
                    keys = [_address_key(ports.addresses[station], 12)]  # IPv4: source address
                    _lead(ip, wired, index_of(ip, one.device), _HOOK["downlink"], keys=keys, protocol=_ETH_P_IP)


def _classify(ip: IPRoute, index: int, link: AppliedLink, queue: Queue) -> None:
    """Packets of stations with settings of their own go to their class, by source and by destination address."""
    for group in queue.groups:
        for station in link.plan.groups[group] if group else ():
            for offset in (12, 16):
                ip.tc(
                    "add-filter",
                    "u32",
                    index,
                    parent=0x10000,
                    protocol=_ETH_P_IP,
                    target=disciplines.lane_of(queue, group),
                    keys=[_address_key(link.ports.addresses[station], offset)],
                )


def _address_key(address: str, offset: int) -> str:
    return f"{int(ipaddress.IPv4Address(address)):#x}/0xffffffff+{offset}"


def _own_devices(link: AppliedLink) -> list[str]:
    lates = disciplines.lates(link.plan, link.ports, link.state)
    return [queue.name for queue in link.shaped] + [one.device for one, stations in lates if stations]


def _remove(ip: IPRoute, link: AppliedLink) -> None:
    for port in (link.ports.wired, *link.ports.stations.values()):
        for one in list(ip.get_qdiscs(index=index_of(ip, port))):
            if one.get_attr("TCA_KIND") in ("clsact", "netem"):
                ip.tc("del", one.get_attr("TCA_KIND"), one["index"], parent=one["parent"])
    for device in _own_devices(link):
        for index in ip.link_lookup(ifname=device):
            ip.link("del", index=index)


@contextmanager
def _named(action: str) -> Iterator[None]:
    try:
        yield
    except NetlinkError as error:
        raise KernelError(f"{action}: {error}") from error
