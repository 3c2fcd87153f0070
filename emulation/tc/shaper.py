"""Applying a plan to an access point: the only place that changes queues and filters."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from emulation.kernel import filters, qdisc
from emulation.kernel.accesspoint import Ports, check_ports
from emulation.kernel.namespace import KernelError, in_namespace
from emulation.kernel.netlink import Message, Netlink
from emulation.kernel.nft import Nft
from emulation.plan.linkplan import LinkPlan, queues
from emulation.plan.stages import GROUP_FRAMES
from emulation.profile.direction import FULL_FRAME
from emulation.profile.timeline import LinkState
from emulation.tc import disciplines, losstable, netems, queuecounts
from emulation.tc.queuecounts import QueueCount

_HOLDING_FRAME = bytes(12) + b"\x88\xb5" + bytes(FULL_FRAME - 14)  # IEEE 802: an ethertype for local experiments
T = TypeVar("T")


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
        self.netems = netems.netems(plan, ports)
        self.devices = frozenset((ports.wired, *ports.stations.values()))
        self._nft = nft
        self._counted: dict[str, list[tuple[int, int]]] = {}

    def check(self) -> None:
        """Raise KernelError when a port has gone."""
        check_ports(self.ports)

    def queue_counts(self) -> tuple[QueueCount, ...]:
        """Counters of every shaped queue."""
        return self.timed_queue_counts()[1]

    def timed_queue_counts(self) -> tuple[int, tuple[QueueCount, ...]]:
        """The moment (CLOCK_MONOTONIC, ns) and the counters of every shaped queue then."""

        def read() -> tuple[int, tuple[QueueCount, ...]]:
            with Netlink() as netlink:
                return time.monotonic_ns(), self.read_queues(netlink)

        return in_namespace(self.ports.pid, read)

    def read_queues(self, netlink: Netlink) -> tuple[QueueCount, ...]:
        """Counters of every shaped queue, in one reading; the calling thread is in the access point's namespace."""
        if not self.shaped:
            return ()
        if not self._counted:  # the devices stay for as long as the link does
            self._counted = {
                queue.name: [(socket.if_nametoindex(queue.name), handle) for handle in disciplines.counted(queue)]
                for queue in self.shaped
            }
        return queuecounts.read(netlink, self._counted)

    def loss_counts(self) -> tuple[losstable.LossCount, ...]:
        """Counters of the loss stage, in the order of the plan's losses."""
        return self.stage_counts().losses

    def stage_counts(self) -> losstable.StageCount:
        """All counters of the loss stage, and those of what came to it."""
        return losstable.read(self.plan, self.ports)

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

    def go_through(self, states: Sequence[LinkState]) -> None:
        """Take the link through states, one after the other, at once."""
        indices = self.inside(self.indices)
        with self.inside(lambda _: Netlink()) as netlink:
            for state in states:
                self.move(netlink, self.prepare(indices, self.state, state))

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
    if plan.group_frames:
        raise KernelError(GROUP_FRAMES)
    if plan.via == "ad-hoc" and not ports.turns:
        raise KernelError("via ad-hoc: tc needs a wired side that sends frames back: use topology peers, or the line")
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


def index_of(ip: IPRoute, name: str) -> int:
    """Index of an interface in the namespace of `ip`; KernelError when there is none."""
    found = ip.link_lookup(ifname=name)
    if not found:
        raise KernelError(f"looking for interface {name}: there is none")
    return int(found[0])


def _all(link: AppliedLink, state: LinkState) -> list[qdisc.Discipline]:
    """Every discipline of a state, in an order that is the same for all of a plan's states."""
    found = [one for queue in link.shaped for one in disciplines.of_queue(queue, state)]
    return found + netems.disciplines(link.plan, link.netems, state)


def _build(ip: IPRoute, link: AppliedLink) -> None:
    with _named("shaping the access point"):
        for device in _own_devices(link):
            ip.link("add", ifname=device, kind="ifb")
            ip.link("set", index=index_of(ip, device), state="up", txqlen=1000)
        ways = netems.ways(link.plan, link.ports)
        again = dict.fromkeys(way.port for way in ways if way.back_from)
        hooked = dict.fromkeys([*_hooked(link), *(way.port for way in ways)])
        indices = link.indices(ip) | {name: index_of(ip, name) for name in (*hooked, *_sinks(link))}
        with Netlink() as netlink:
            planned = [*_all(link, link.state), *map(netems.second_chance, again), *map(filters.hooks, hooked)]
            planned += [filters.sink() for _ in _sinks(link)]
            qdisc.add(netlink, *((indices[one.device], one) for one in planned))
            netlink.request([*_classes(link, indices), *_to_queues(link, indices), *_to_netems(link, ways, indices)])


def _hooked(link: AppliedLink) -> list[str]:
    """Ports at which packets are led to queues."""
    stations = [*_onward(link), *(station for queue in link.shaped for station, _ in queue.hooks)]
    wired = [link.ports.wired] if _downlinks(link) or link.ports.turns else []
    return [*dict.fromkeys(link.ports.stations[station] for station in stations), *wired]


def _downlinks(link: AppliedLink) -> dict[str, str]:
    """The queue of each station's downlink, where there is one."""
    return {station: queue.name for queue in link.shaped for station, way in queue.hooks if way == "downlink"}


def _onward(link: AppliedLink) -> dict[str, str]:
    """Where packets from other stations are led to at a station's port: out of the wired one where that turns them.

    Else only to the queue of the station's downlink, where there is one.
    """
    return dict.fromkeys(link.ports.stations, link.ports.wired) if link.ports.turns else _downlinks(link)


def _to_queues(link: AppliedLink, indices: Mapping[str, int]) -> Iterator[Message]:
    """Packets of stations to the queues where they come in; those from one station to another on the way out, too."""
    ports, sink, downlinks = link.ports, indices.get(filters.SINK, 0), _downlinks(link)
    for queue in link.shaped:
        for station, direction in queue.hooks:
            if direction == "uplink":
                yield filters.lead(indices[ports.stations[station]], indices[queue.name], sink=sink)
    led = [filters.Led(mac=ports.macs[station], to=indices[name]) for station, name in downlinks.items()]
    if led:
        yield from filters.lead_each(indices[ports.wired], filters.INGRESS, filters.MAC_DESTINATION, led, sink=sink)
    for station, name in _onward(link).items():
        yield filters.lead_out(indices[ports.stations[station]], indices[name], rank=2)


def _to_netems(link: AppliedLink, ways: Sequence[netems.Way], indices: Mapping[str, int]) -> Iterator[Message]:
    """Packets that have left their queues to the netems that are not where they pass anyway.

    What leaves by a station's port and came by the wired one has been in its queue.
    """
    ports = link.ports
    out = {way.port: way.device for way in ways if not way.stations}
    for port in dict.fromkeys([*out, *(ports.stations[station] for station in _onward(link))]):
        came_by = "" if port == ports.wired else ports.wired
        yield filters.lead_out(indices[port], indices[out[port]] if port in out else 0, came_by=came_by)
    for back in (False, True):
        led = [
            filters.Led(mac=ports.macs[station], to=indices[way.device], came_by=way.back_from)
            for way in ways
            if bool(way.back_from) == back
            for station in way.stations
        ]
        parent = netems.SECOND_CHANCE if back else filters.EGRESS
        if led:
            yield from filters.lead_each(indices[ports.wired], parent, filters.MAC_SOURCE, led)


def _classes(link: AppliedLink, indices: Mapping[str, int]) -> Iterator[Message]:
    """Packets of stations with settings of their own go to their class, by source and by destination address."""
    for queue in link.shaped:
        for group in queue.groups if len(queue.groups) > 1 else ():
            for station in link.plan.groups[group] if group else ():
                for offset in (filters.SOURCE, filters.DESTINATION):
                    lane, address = disciplines.lane_of(queue, group), link.ports.addresses[station]
                    yield filters.classify(indices[queue.name], lane, address, offset)


def _sinks(link: AppliedLink) -> list[str]:
    """Where packets end when their copies have been led to a queue."""
    return [filters.SINK] if link.shaped else []


def _own_devices(link: AppliedLink) -> list[str]:
    own = [one.device for one in link.netems if one.own]
    return [*(queue.name for queue in link.shaped), *own, *_sinks(link)]


def _remove(ip: IPRoute, link: AppliedLink) -> None:
    """The kernel lists the disciplines of all devices, whichever is asked for: they are listed once."""
    names = (link.ports.wired, *link.ports.stations.values())
    ports = {index for name in names for index in ip.link_lookup(ifname=name)}  # one may have gone
    for one in list(ip.get_qdiscs()):
        if one["index"] in ports and one.get_attr("TCA_KIND") in ("clsact", "netem", "htb"):
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
