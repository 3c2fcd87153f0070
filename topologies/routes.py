"""Which way packets go: shortest paths by the number of segments, the same for the same plan.  Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from topologies.plan import Interface, Segment, TopologyPlan


class NoPath(ValueError):
    """There is no way from one host to another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """An emulated segment that a packet passes.  station: whose settings it meets there, on the medium's side."""

    segment: str
    direction: Literal["uplink", "downlink"]
    station: str

    @property
    def back(self) -> Crossing:
        """The same crossed by an answer."""
        return replace(self, direction="downlink" if self.direction == "uplink" else "uplink")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One step of a path: from host to host over a segment."""

    segment: str
    sender: str
    receiver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An entry of a host's routing table.  to: prefix.  source: which address it sends with, '' = the interface's."""

    to: str
    via: str
    interface: str
    source: str


class Routes:
    """The routing tables of a plan's hosts."""

    def __init__(self, plan: TopologyPlan) -> None:
        self._plan = plan
        self._place = {one.name: number for number, one in enumerate(plan.segments)}
        self._masked = {one.router: one.outside for one in plan.translators}

    def table(self, host: str) -> Iterator[Route]:
        """A host's entries: one for each segment that it is not on, and for each host that is on several."""
        plan, source = self._plan, self._plan.identity(host)
        for segment in plan.segments:
            if host not in segment.members and (hop := self._to_segment[segment.name].get(host)):
                yield self._route(host, str(plan.subnet(segment.name)), hop, source)
        for name, hops in self._to_host.items():
            if hop := hops.get(host):
                yield self._route(host, f"{plan.identity(name)}/32", hop, source)

    def hops(self, sender: str, receiver: str) -> tuple[Hop, ...]:
        """The path of a packet; NoPath when there is none."""
        found: list[Hop] = []
        at = sender
        while at != receiver:
            hop = self._next(at, receiver)
            if hop is None:
                raise NoPath(f"no packet gets from {sender} to {receiver}: nobody passes it on at {at}")
            found.append(hop)
            at = hop.receiver
        return tuple(found)

    def path(self, sender: str, receiver: str) -> tuple[Crossing, ...]:
        """The emulated segments that a packet passes, in order; NoPath when it does not arrive.

        From station to station of one medium it goes up and down, or ad hoc as its sender's uplink says.
        """
        return tuple(crossing for hop in self.hops(sender, receiver) for crossing in self._crossings(hop))

    def answers(self, sender: str, receiver: str) -> bool:
        """Whether a packet arrives only as an answer, because an address translator is in front of its receiver."""
        try:
            self.path(sender, receiver)
        except NoPath:
            self.path(receiver, sender)
            return True
        return False

    def load_path(self, sender: str, receiver: str) -> tuple[Crossing, ...]:
        """The path of a packet of a connection that either has opened; NoPath when neither reaches the other.

        An answer comes back the way that it was asked.
        """
        if self.answers(sender, receiver):
            return tuple(one.back for one in reversed(self.path(receiver, sender)))
        return self.path(sender, receiver)

    def _crossings(self, hop: Hop) -> Iterator[Crossing]:
        segment = self._plan.segment(hop.segment)
        if segment.profile is None:
            return
        if hop.sender in segment.stations:
            yield Crossing(segment=segment.name, direction="uplink", station=hop.sender)
        if hop.receiver in segment.stations and not (segment.via == "ad-hoc" and hop.sender in segment.stations):
            yield Crossing(segment=segment.name, direction="downlink", station=hop.receiver)

    def _next(self, at: str, receiver: str) -> Hop | None:
        if receiver in self._to_host:
            return self._to_host[receiver].get(at)
        (segment,) = self._plan.segments_of(receiver)
        if at in segment.members:
            return Hop(segment=segment.name, sender=at, receiver=receiver)
        return self._to_segment[segment.name].get(at)

    def _route(self, host: str, to: str, hop: Hop, source: str) -> Route:
        own, other = self._interface(host, hop.segment), self._interface(hop.receiver, hop.segment)
        return Route(to=to, via=other.address, interface=own.name, source=source)

    def _interface(self, host: str, segment: str) -> Interface:
        return next(one for one in self._plan.interfaces_of(host) if one.segment == segment)

    @cached_property
    def _to_segment(self) -> dict[str, dict[str, Hop]]:
        return {
            one.name: self._towards([name for name in one.members if self._plan.forwards(name)], inside=one)
            for one in self._plan.segments
        }

    @cached_property
    def _to_host(self) -> dict[str, dict[str, Hop]]:
        return {host.name: self._towards([host.name]) for host in self._plan.hosts if self._plan.identity(host.name)}

    def _towards(self, ends: list[str], inside: Segment | None = None) -> dict[str, Hop]:
        """The next hop of every host that can reach one of `ends`, or through one of them the segment `inside`.

        Breadth first, backwards.  Of several that are as near the one on the first segment, and there the first host.
        """
        found: dict[str, Hop] = {}
        done, edge = set(ends), ends
        while edge:
            near = [(self._place[one.name], host, one) for host in edge for one in self._plan.segments_of(host)]
            edge = []
            for _, receiver, segment in sorted(near, key=lambda one: one[0]):
                last = receiver in ends and inside is None
                if not last and not self._passes_on(receiver, segment):
                    continue
                for sender in segment.members:
                    if sender not in done:
                        done.add(sender)
                        found[sender] = Hop(segment=segment.name, sender=sender, receiver=receiver)
                        edge += [sender] if self._plan.forwards(sender) else []
        return found

    def _passes_on(self, host: str, came_by: Segment) -> bool:
        return self._plan.forwards(host) and self._masked.get(host) != came_by.name
