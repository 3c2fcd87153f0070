"""Simulated overlays that tests ask and speak to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from ipaddress import IPv4Network

from stacks.iris.frames import Kind, Message, Op
from stacks.iris.ids import clockwise
from stacks.iris.simulator import World
from stacks.iris.table import ABOVE, BELOW

GROUP = 0x123456789A


def grown(nodes: int, seed: int = 1, settle_s: float = 2.0) -> World:
    """So many nodes, each of which was told of one other."""
    world = World(seed)
    world.grow(nodes, every_s=0.02)
    world.run(settle_s)
    return world


def cold(nodes: int, *, by: str, seed: int = 1) -> World:
    """So many nodes that begin at once.  by: `told`, of each other, or `scan`, of a subnet of 16 bits."""
    world = World(seed, IPv4Network("10.0.0.0/16") if by == "scan" else None)
    made = [world.add() for _ in range(nodes)]
    if by == "told":
        for one in made:
            for other in made:
                if other is not one:
                    one.dial(other.own)
    return world


def assert_right(world: World, ids: Collection[int]) -> None:
    """Everybody knows the closest nodes, so that everything is found."""
    for one in ids:
        around = sorted((other for other in ids if other != one), key=lambda other: clockwise(one, other))
        assert world.nodes[one].overlay.table.leaves == {*around[:ABOVE], *around[::-1][:BELOW]}


def join(world: World, members: Collection[int], group: int = GROUP) -> None:
    """These nodes have members of a group."""
    for one in members:
        world.nodes[one].overlay.trees.join(group)


def flood(world: World, start: int, number: int, group: int = GROUP, data: bytes = b"news") -> None:
    """Have a node send a message to every member."""
    message = Message(Op.FLOOD, Kind.PUBLISH, group, start, number, data)
    world.nodes[start].overlay.send(message)


def heard(world: World, number: int) -> Counter[int]:
    """How often each node was given a message."""
    return Counter(
        {one: sum(message.number == number for message in node.arrivals) for one, node in world.nodes.items()}
    )


def edges(world: World, group: int = GROUP) -> Iterator[tuple[int, int]]:
    """Child and parent, as children have it."""
    for one, node in world.nodes.items():
        known = node.overlay.trees.groups.get(group)
        if known is not None and known.parent is not None:
            yield one, known.parent
