"""Worlds of simulated nodes, and what tests do in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from stacks.iris.frames import Kind, Message, Op
from stacks.iris.simulator import World

GROUP = 0x123456789A


def grown(nodes: int, seed: int = 1, settle_s: float = 2.0) -> World:
    """Nodes that have found each other."""
    world = World(seed)
    world.grow(nodes, every_s=0.02)
    world.run(settle_s)
    return world


def path(world: World, start: int, key: int) -> list[int]:
    """The nodes on the way to a key."""
    found = [start]
    while (hop := world.nodes[found[-1]].overlay.table.next_hop(key)) is not None:
        assert hop not in found, "it goes in a circle"
        found.append(hop)
    return found


def flood(world: World, start: int, number: int, group: int = GROUP, data: bytes = b"news") -> None:
    """Send something to all of a group."""
    message = Message(Op.FLOOD, Kind.PUBLISH, group, start, number, data)
    world.nodes[start].overlay.send(message)


def heard(world: World, number: int) -> Counter[int]:
    """How often each node has heard a message."""
    return Counter(
        {one: sum(message.number == number for message in node.arrivals) for one, node in world.nodes.items()}
    )


def join(world: World, members: Collection[int], group: int = GROUP) -> None:
    """Have nodes be members of a group."""
    for one in members:
        world.nodes[one].overlay.trees.join(group)
