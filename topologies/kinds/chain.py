"""Stations and servers at the two ends of a row of routers, with a link behind each router."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from topologies import topology
from topologies.plan import Host, Segment, TopologyPlan
from topologies.topology import Linked, Several


class Chain(Linked):
    """Link number k, `link1` ..., leads from router k to the next one, the last one to the servers.

    routers, servers: how many.
    """

    kind: Literal["chain"] = "chain"
    routers: Annotated[Several, Field(le=63)] = 1  # a packet passes 63 (RFC 1700: a TTL of 64), and no more
    servers: Several = 1

    def plan(self, *, stations: int, network: str) -> TopologyPlan:
        """The stations' medium, whose wired side is the first router, then the links."""
        on_air, wired = topology.stations(stations), topology.servers(self.servers)
        routers = [f"r{number}" for number in range(1, self.routers + 1)]
        medium = Segment(
            name="medium", profile=network, stations=tuple(host.name for host in on_air), wired=(routers[0],)
        )
        behind = [*((router,) for router in routers[1:]), tuple(host.name for host in wired)]
        profiles = self.profile_of(f"link{number}" for number in range(1, self.routers + 1))
        links = tuple(
            Segment(name=name, profile=profile, stations=(router,), wired=other)
            for (name, profile), router, other in zip(profiles.items(), routers, behind, strict=True)
        )
        return TopologyPlan(
            hosts=(*wired, *(Host(name=name, role="router") for name in routers), *on_air),
            segments=(medium, *links),
        )
