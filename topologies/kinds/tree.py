"""Servers in a tree, each below its parent, with stations at some of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from topologies import topology
from topologies.plan import Segment, TopologyPlan
from topologies.topology import Linked, Several


class Tree(Linked):
    """Server 1 is the root; the link of server k to its parent is called `linkK`.

    fanout: how many servers are below each.  stations_at: which servers have stations, in turn: `leaves`, `all`, or
    some of server1, server2 ...
    """

    kind: Literal["tree"] = "tree"
    servers: Annotated[Several, Field(ge=2)] = 3
    fanout: Several = 2
    stations_at: Annotated[tuple[str, ...], BeforeValidator(topology.listed)] = ("leaves",)

    def plan(self, *, stations: int, network: str) -> TopologyPlan:
        """A link for each server but the root, and a medium for each that has stations."""
        servers, on_air = topology.servers(self.servers), topology.stations(stations)
        names = [host.name for host in servers]
        parents = {number: (number - 2) // self.fanout + 1 for number in range(2, self.servers + 1)}
        profiles = self.profile_of(f"link{number}" for number in parents)
        links = tuple(
            Segment(
                name=f"link{number}",
                profile=profiles[f"link{number}"],
                stations=(names[number - 1],),
                wired=(names[parent - 1],),
            )
            for number, parent in parents.items()
        )
        leaves = [name for number, name in enumerate(names, 1) if number not in parents.values()]
        media = topology.media_at(self.stations_at, on_air, network, choice={"leaves": leaves, "all": names})
        return TopologyPlan(hosts=(*servers, *on_air), segments=(*media, *links))
