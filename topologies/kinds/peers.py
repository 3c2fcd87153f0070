"""Stations on one medium and nobody else.

By an access point a frame from one station to another goes up and down again; ad hoc it goes once.

What is behind the wired port sends frames for a station back in: so by tc a frame from one station to another goes up
and down again on the same ways as one to a server and one from there.
"""

from __future__ import annotations

from typing import Literal

from emulation.profile.media import Via
from topologies import topology
from topologies.plan import Segment, TopologyPlan
from topologies.topology import Topology


class Peers(Topology):
    """via: how a frame comes from one station to another."""

    kind: Literal["peers"] = "peers"
    via: Via = "access-point"

    def plan(self, *, stations: int, network: str) -> TopologyPlan:
        """One segment without a wired side."""
        if stations < 2:
            raise ValueError(f"peers are 2 stations or more, not {stations}")
        hosts = topology.stations(stations)
        medium = Segment(name="medium", profile=network, stations=tuple(host.name for host in hosts), via=self.via)
        return TopologyPlan(hosts=hosts, segments=(medium,))
