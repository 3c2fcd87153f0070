"""Stations on one medium, servers on its wired side; several servers share a switch there."""

from __future__ import annotations

from typing import Literal

from topologies import topology
from topologies.plan import Segment, TopologyPlan
from topologies.topology import Several, Topology


class Star(Topology):
    """servers: how many."""

    kind: Literal["star"] = "star"
    servers: Several = 1

    def plan(self, *, stations: int, network: str) -> TopologyPlan:
        """One segment."""
        on_air, wired = topology.stations(stations), topology.servers(self.servers)
        medium = Segment(
            name="medium",
            profile=network,
            stations=tuple(host.name for host in on_air),
            wired=tuple(host.name for host in wired),
        )
        return TopologyPlan(hosts=(*wired, *on_air), segments=(medium,))
