"""Servers with links between them, and stations at some of them; packets take the way over the fewest links."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from topologies import topology
from topologies.plan import Segment, TopologyPlan
from topologies.topology import Linked, Several

_WHOLE = ("full", "ring")
_PAIR = re.compile(r"([1-9]\d?)-([1-9]\d?)")


class Mesh(Linked):
    """joined: which servers have a link: `full` (each to each), `ring`, or pairs such as `1-2 2-3`.

    The link of servers 1 and 2 is called `link1-2`.  stations_at: which servers have stations, in turn: `all`, or some
    of server1, server2 ...
    """

    kind: Literal["mesh"] = "mesh"
    servers: Annotated[Several, Field(ge=2)] = 3
    joined: Annotated[tuple[str, ...], BeforeValidator(topology.listed)] = ("full",)
    stations_at: Annotated[tuple[str, ...], BeforeValidator(topology.listed)] = ("all",)

    @model_validator(mode="after")
    def _pairs_of_servers(self) -> Mesh:
        for one, other in self._pairs():
            if one == other or max(one, other) > self.servers:
                raise ValueError(f"joined: {one}-{other}: a link is between two of the servers 1 to {self.servers}")
        return self

    def plan(self, *, stations: int, network: str) -> TopologyPlan:
        """A link for each pair, and a medium for each server that has stations."""
        servers, on_air = topology.servers(self.servers), topology.stations(stations)
        names = [host.name for host in servers]
        pairs = list(dict.fromkeys((min(pair), max(pair)) for pair in self._pairs()))
        profiles = self.profile_of(f"link{one}-{other}" for one, other in pairs)
        links = tuple(
            Segment(name=name, profile=profile, stations=(names[one - 1],), wired=(names[other - 1],))
            for (name, profile), (one, other) in zip(profiles.items(), pairs, strict=True)
        )
        media = topology.media_at(self.stations_at, on_air, network, choice={"all": names})
        return TopologyPlan(hosts=(*servers, *on_air), segments=(*media, *links))

    def _pairs(self) -> Iterator[tuple[int, int]]:
        numbers = range(1, self.servers + 1)
        if self.joined == ("full",):
            yield from itertools.combinations(numbers, 2)
        elif self.joined == ("ring",):
            yield from itertools.pairwise(numbers)
            yield (1, self.servers)
        else:
            for word in self.joined:
                if word in _WHOLE:
                    raise ValueError(f"joined: {word!r} says all of it: give it alone, or pairs of servers such as 1-2")
                if not (match := _PAIR.fullmatch(word)):
                    raise ValueError(f"joined: {word!r} is not full, ring, or a pair of servers such as 1-2")
                yield int(match[1]), int(match[2])
