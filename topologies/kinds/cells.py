"""Several access points, each with a router to the backbone that they have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, model_validator

from topologies import topology
from topologies.plan import Host, Segment, TopologyPlan, Translator
from topologies.topology import ProfileName, Several, Topology

_BACKBONE = "backbone"
_CORE = Host(name="core", role="router")


class Cells(Topology):
    """Station number i is in cell number i mod cells.

    backbone: the profile of a link from each cell's router to a router in the middle; left out, cells' routers share a
    plain switch.  servers: how many.  at: where they are, in turn: some of `backbone`, `cell1`, `cell2` ...
    translate: whether a cell's router puts its own address on what leaves the cell.
    """

    kind: Literal["cells"] = "cells"
    cells: Several = 2
    backbone: ProfileName | None = None
    servers: Several = 1
    at: Annotated[tuple[str, ...], BeforeValidator(topology.listed)] = (_BACKBONE,)
    translate: bool = False

    @model_validator(mode="after")
    def _servers_are_where_they_can_be_reached(self) -> Cells:
        topology.check_words("at", self.at, [_BACKBONE, *self._names])
        if len(self.at) > self.servers:
            raise ValueError(
                f"at: {len(self.at)} places for servers, of which there are {self.servers} (`servers`): "
                f"nothing is put at {self.at[self.servers]}"
            )
        if self.translate and self.cells > 1 and (inside := [place for place in self.at if place != _BACKBONE]):
            raise ValueError(
                f"translate: nobody outside of {inside[0]} reaches a server in it: place servers at the backbone, or "
                "leave translate out"
            )
        return self

    def profiles(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """The backbone's."""
        if self.backbone:
            yield (_BACKBONE,), self.backbone

    def plan(self, *, stations: int, network: str) -> TopologyPlan:
        """A segment for each cell, and the backbone."""
        on_air, wired = topology.stations(stations), topology.servers(self.servers)
        routers = [f"gw{number}" for number in range(1, self.cells + 1)]
        homes: dict[str, list[str]] = {_BACKBONE: [], **{name: [] for name in self._names}}
        for number, host in enumerate(wired):
            homes[self.at[number % len(self.at)]].append(host.name)
        cells = tuple(
            Segment(name=name, profile=network, stations=some, wired=(router, *homes[name]))
            for name, router, some in zip(self._names, routers, topology.spread(on_air, self.cells), strict=True)
        )
        backbone = self._backbone(routers, homes[_BACKBONE])
        core = (_CORE,) if self.backbone else ()
        return TopologyPlan(
            hosts=(*wired, *core, *(Host(name=name, role="router") for name in routers), *on_air),
            segments=(*cells, *backbone),
            translators=tuple(
                Translator(router=router, outside=next(one.name for one in backbone if router in one.members))
                for router in routers
                if self.translate
            ),
        )

    @property
    def _names(self) -> list[str]:
        return [f"cell{number}" for number in range(1, self.cells + 1)]

    def _backbone(self, routers: list[str], servers: list[str]) -> tuple[Segment, ...]:
        if self.backbone is None:
            return (Segment(name=_BACKBONE, profile=None, wired=(*servers, *routers)),)
        links = [
            Segment(name=f"link{number}", profile=self.backbone, stations=(router,), wired=(_CORE.name,))
            for number, router in enumerate(routers, 1)
        ]
        middle = [Segment(name=_BACKBONE, profile=None, wired=(*servers, _CORE.name))] if servers else []
        return (*links, *middle)
