"""A built network, whatever its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from emulation.accesspoint import Ports


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
