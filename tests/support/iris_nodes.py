"""Iris nodes on this event loop, over loopback, and applications of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any

from free_ports import LOOPBACK, free_ports
from pattern_stories import until

from stacks.channel import opened
from stacks.driver import Endpoint
from stacks.iris.client import Application
from stacks.iris.node import Node, Settings

KEY = bytes(range(32))


class Nodes:
    """Nodes that were told of each other."""

    def __init__(self, nodes: list[Node], relays: list[int]) -> None:
        self.nodes, self.relays = nodes, relays
        self._applications: list[Application] = []

    async def application(self, node: int, cluster: str = "", **hears: Any) -> Application:
        """An application of a node, which has been welcomed.  hears: its handlers."""
        one = await self.silent(node)
        for name, handler in hears.items():
            setattr(one, name, handler)
        await one.enter(cluster)
        return one

    async def caller_of_an_echo(self) -> Application:
        """An application of node 0, when one of node 2 answers requests."""
        caller = await self.application(0)
        await self.application(2, "echo", on_request=lambda body, reply: reply(body))
        await until(lambda: len(self.nodes[2].overlay.trees.groups) == 5)
        return caller

    async def silent(self, node: int) -> Application:
        """One that has not said anything yet."""
        one = await opened(Application, Endpoint(host=LOOPBACK, port=self.relays[node]))
        self._applications.append(one)
        return one

    def close(self) -> None:
        """Cut everything."""
        for application in self._applications:
            application.abort()
        for node in self.nodes:
            node.close()


@asynccontextmanager
async def nodes_here(count: int, *, kind: Callable[[Settings], Node] = Node, **settings: Any) -> AsyncIterator[Nodes]:
    """So many nodes, which look for each other when the first application is there.

    They were told where the others are; with a subnet they are its first hosts, have one port and were told nothing.
    kind: what makes each.
    """
    ports = free_ports(2 * count)
    places = [(LOOPBACK, port) for port in ports[:count]]
    if (subnet := settings.get("subnet")) is not None:
        places = [(str(host), ports[0]) for host in islice(subnet.hosts(), count)]
    made = []
    for place, relay_port in zip(places, ports[count:], strict=True):
        told = () if subnet else tuple(one for one in places if one != place)
        given = {"key": KEY, "network": "test", **settings}
        made.append(kind(Settings(address=place[0], port=place[1], told=told, relay_port=relay_port, **given)))
    found = Nodes(made, ports[count:])
    try:
        for node in made:
            await node.listen()
        yield found
    finally:
        found.close()
        await asyncio.sleep(0)


def run(talk: Callable[[], Awaitable[None]], *, limit_s: float = 600) -> None:
    """Run a coroutine to its end.  Beside tests that take every processor, that may be long after it began."""

    async def limited() -> None:
        async with asyncio.timeout(limit_s):
            await talk()

    asyncio.run(limited())
