"""A built network, whatever its shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from emulation.accesspoint import Ports
from emulation.proof import Ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A host: `pid` is a process in its network namespace; role `station` hangs on the medium."""

    name: str
    role: Literal["station", "server"]
    pid: int
    address: str
    interface: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Hosts and the access point between them."""

    nodes: tuple[Node, ...]
    ports: Ports

    @property
    def stations(self) -> tuple[Node, ...]:
        """Hosts on the medium."""
        return tuple(node for node in self.nodes if node.role == "station")

    @property
    def servers(self) -> tuple[Node, ...]:
        """Hosts on the access point's wired side."""
        return tuple(node for node in self.nodes if node.role == "server")

    def node(self, name: str) -> Node:
        """The node called `name`."""
        return next(node for node in self.nodes if node.name == name)


def probe_ends(network: Network, groups: Sequence[Sequence[str]]) -> dict[int, Ends]:
    """Where a link is probed: between the first server and the first station of each group that has stations."""
    server = network.servers[0]
    return {
        group: Ends(
            station_pid=network.node(members[0]).pid,
            station_address=network.node(members[0]).address,
            wired_pid=server.pid,
            wired_address=server.address,
        )
        for group, members in enumerate(groups)
        if members
    }
