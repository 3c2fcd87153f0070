"""A built network, whatever its shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from emulation.kernel.accesspoint import Ports
from emulation.proof.peerproof import PeerEnds
from emulation.proof.proof import End, Ends
from topologies.plan import Interface, Role, Segment, TopologyPlan
from topologies.routes import Routes

# Ways between groups of stations that are all proven; of more, each group's ways out and in.
_MOST_WAYS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A host: `pid` is a process in its network namespace, `address` where others reach it."""

    name: str
    role: Role
    pid: int
    address: str
    interfaces: tuple[Interface, ...]

    @property
    def interface(self) -> str:
        """The name of its first interface."""
        return self.interfaces[0].name


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltSegment:
    """A segment's ports.  ends: all of them, as a process in the namespace and a name.

    access_point: what a link plan is applied to; None for a plain switch, on which nothing is emulated.
    """

    plan: Segment
    ends: tuple[tuple[int, str], ...]
    access_point: Ports | None = None

    @property
    def ports(self) -> Ports:
        """The access point's.  ValueError where there is none."""
        if self.access_point is None:
            raise ValueError(f"segment {self.plan.name} is a plain switch: there is no link to emulate")
        return self.access_point


@dataclass(frozen=True, kw_only=True)
class Network:
    """Hosts and the segments between them, as planned."""

    plan: TopologyPlan
    nodes: tuple[Node, ...]
    segments: Mapping[str, BuiltSegment]

    @property
    def ports(self) -> Ports:
        """The access point of the first segment that is emulated: the medium that the topology is about."""
        return self.emulated[0].ports

    @property
    def emulated(self) -> tuple[BuiltSegment, ...]:
        """Segments with a link profile, in the plan's order."""
        return tuple(self.segments[one.name] for one in self.plan.emulated)

    @property
    def stations(self) -> tuple[Node, ...]:
        """Hosts that hang on a medium."""
        return self._of_role("station")

    @property
    def servers(self) -> tuple[Node, ...]:
        """Hosts for the stack's services."""
        return self._of_role("server")

    @property
    def routers(self) -> tuple[Node, ...]:
        """Hosts that only pass packets on."""
        return self._of_role("router")

    def node(self, name: str) -> Node:
        """The node called `name`."""
        return next(node for node in self.nodes if node.name == name)

    @cached_property
    def routes(self) -> Routes:
        """Which way packets go between its hosts."""
        return Routes(self.plan)

    def _of_role(self, role: Role) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.role == role)


def probe_ends(network: Network, groups: Sequence[Sequence[str]], segment: str = "") -> dict[int, Ends]:
    """Where a segment is probed: between the first host of each group that has hosts and the first on the wired side.

    segment: its name, '' = the first that is emulated.  Nowhere where there is nobody on its wired side.
    """
    one = network.plan.segment(segment) if segment else network.plan.emulated[0]
    if not one.wired:
        return {}
    return {group: ends_of(network, members[0], one.name) for group, members in enumerate(groups) if members}


def ends_of(network: Network, station: str, segment: str = "") -> Ends:
    """A host on a segment's medium, and who is at the other end of its link there.

    That is the first one on the wired side, or where nobody is another station.  The addresses are those on the
    segment, so that probes cross nothing else.
    """
    one = network.plan.segment(segment) if segment else network.plan.emulated[0]
    there = {interface.host: interface for interface in network.plan.on(one.name)}
    other = next(name for name in one.members if name != station)
    return Ends(
        station_pid=network.node(station).pid,
        station_address=there[station].address,
        wired_pid=network.node(other).pid,
        wired_address=there[other].address,
    )


def peer_ends(
    network: Network, groups: Sequence[Sequence[str]], pairs: Iterable[tuple[str, str]]
) -> tuple[PeerEnds, ...]:
    """Where ways between stations are probed: the first pair for each two groups that a load's `pairs` are of.

    pairs: sender and receiver.  Where there are more than 16 such, enough of them for each group that sends to be a
    sender, and each that receives a receiver.
    """
    group_of = {station: number for number, members in enumerate(groups) for station in members}
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for sender, receiver in pairs:
        found.setdefault((group_of[sender], group_of[receiver]), (sender, receiver))
    if len(found) > _MOST_WAYS:
        found = dict(_each_once(found))
    return tuple(
        PeerEnds(sender=sender, receiver=receiver, sends=_end(network, sender), receives=_end(network, receiver))
        for sender, receiver in found.values()
    )


def station_ends(network: Network, segment: str) -> dict[str, End]:
    """The stations of a segment in the order of their ports, with their addresses there."""
    there = {interface.host: interface for interface in network.plan.on(segment)}
    stations = network.plan.segment(segment).stations
    return {name: End(network.node(name).pid, there[name].address) for name in stations}


def _each_once(
    ways: Mapping[tuple[int, int], tuple[str, str]],
) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
    """Ways that between them have each group that sends, and each that receives; what adds both comes first."""
    senders, receivers = {way[0] for way in ways}, {way[1] for way in ways}
    for wanted in (2, 1):
        for way, pair in ways.items():
            if (way[0] in senders) + (way[1] in receivers) >= wanted:
                senders.discard(way[0])
                receivers.discard(way[1])
                yield way, pair


def _end(network: Network, name: str) -> End:
    node = network.node(name)
    return End(node.pid, node.address)
