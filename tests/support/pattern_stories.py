"""What each pattern promises, told by clients of any stack that offers it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from here import HERE

from records.messaging import Ack, Delivery, Guarantee
from stacks.driver import Endpoint, Stack, Subscription

Got = list[bytes]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for it; the caller limits the time."""
    while not condition():
        await asyncio.sleep(0.005)


@dataclass
class Stories:
    """services: where the stack's servers are.  prefix: of all names, as several tests share a broker."""

    stack: Stack
    services: Sequence[Endpoint] = ()
    prefix: str = "x"
    connections: list[Any] = field(default_factory=list)

    async def client(self, name: str) -> Any:
        """One more connection."""
        connection = await self.stack.connect(HERE, self.services, f"{self.prefix}-{name}")
        self.connections.append(connection)
        return connection

    async def close(self) -> None:
        """End all connections."""
        for connection in self.connections:
            await connection.close()

    async def queue(self, bodies: Sequence[bytes], *, receivers: int = 2) -> list[Got]:
        """What each of a queue's receivers gets."""
        got: list[Got] = [[] for _ in range(receivers)]
        for number, mine in enumerate(got):
            connection = await self.client(f"receiver-{number}")
            take = lambda body, _, mine=mine: mine.append(body)  # noqa: E731
            await connection.receive(f"{self.prefix}-q", take, subscription=Subscription(), ack=Ack.AUTO)
        sender = await (await self.client("sender")).sender(f"{self.prefix}-q", delivery=Delivery.NONPERSISTENT)
        for body in bodies:
            await sender.send(body)
        await until(lambda: sum(map(len, got)) >= len(bodies))
        return got

    async def calls(self, bodies: Sequence[bytes], *, callers: int = 2, servers: int = 2) -> list[list[bytes]]:
        """What each caller's requests, made all at once, are answered with: the server turns a body round."""
        for number in range(servers):
            connection = await self.client(f"server-{number}")
            await connection.serve(f"{self.prefix}-s", _turned_round_soon)
        asking = [await (await self.client(f"caller-{one}")).caller(f"{self.prefix}-s") for one in range(callers)]
        replies = [
            [asyncio.ensure_future(caller.call(b"%d %b" % (number, body))) for body in bodies]
            for number, caller in enumerate(asking)
        ]
        return [list(await asyncio.gather(*mine)) for mine in replies]

    async def broadcast(self, bodies: Sequence[bytes], *, members: int = 3, wanted: int | None = None) -> list[Got]:
        """What each member gets.  wanted: how many in all to wait for."""
        got: list[Got] = [[] for _ in range(members)]
        for number, mine in enumerate(got):
            connection = await self.client(f"member-{number}")
            await connection.join(f"{self.prefix}-g", lambda body, _, mine=mine: mine.append(body))
        sender = await (await self.client("broadcaster")).broadcaster(f"{self.prefix}-g")
        for body in bodies:
            await sender.send(body)
        await until(lambda: sum(map(len, got)) >= (len(bodies) * members if wanted is None else wanted))
        return got

    async def stream(self, bodies: Sequence[bytes]) -> Got:
        """What the flow's receiving end gets."""
        got: Got = []
        await (await self.client("end")).accept(f"{self.prefix}-f", lambda body, _: got.append(body))
        flow = await (await self.client("start")).stream(f"{self.prefix}-f")
        for body in bodies:
            await flow.send(body)
        await until(lambda: len(got) >= len(bodies))
        return got

    async def streams(self, bodies: Sequence[bytes], *, starts: int = 4, ends: int = 2) -> list[Got]:
        """What each of the receiving ends of a flow gets; senders put their numbers before the bodies."""
        got: list[Got] = [[] for _ in range(ends)]
        for number, mine in enumerate(got):
            connection = await self.client(f"end-{number}")
            await connection.accept(f"{self.prefix}-a", lambda body, _, mine=mine: mine.append(body))
        flows = [await (await self.client(f"start-{one}")).stream(f"{self.prefix}-a") for one in range(starts)]
        for body in bodies:
            for number, flow in enumerate(flows):
                await flow.send(b"%d %b" % (number, body))
        await until(lambda: sum(map(len, got)) >= len(bodies) * starts)
        return got

    async def missed(self, bodies: Sequence[bytes], *, durable: bool) -> Got:
        """What a subscriber gets that comes back: of `bodies`, sent while it was away, and of one that is sent then.

        Where exactly once is not promised without what may come again: its answer may not have been read yet.
        """
        topic, name = f"{self.prefix}-{durable}", "s" if durable else None

        async def subscriber(got: Got) -> Any:
            connection = await self.client(f"away-{durable}")
            take = lambda body, _: got.append(body)  # noqa: E731
            await connection.subscribe(topic, take, subscription=Subscription(name=name), ack=Ack.AUTO)
            return connection

        first: Got = []
        leaving = await subscriber(first)
        self.connections.remove(leaving)
        publisher = await (await self.client(f"writer-{durable}")).publisher(topic, delivery=Delivery.PERSISTENT)
        await publisher.send(b"before")
        await until(lambda: first == [b"before"])
        leaving.abort()
        for body in bodies:
            await publisher.send(body)
        again: Got = []
        await subscriber(again)
        await publisher.send(b"after")
        await until(lambda: b"after" in again)
        once = Guarantee.EXACTLY_ONCE in self.stack.guarantees
        return again if once else [body for body in again if body != b"before"]


def _turned_round_soon(body: bytes, reply: Callable[[bytes], None]) -> None:
    asyncio.get_running_loop().call_later(0.01, reply, body[::-1])


def whole_streams(got: Sequence[Got], bodies: Sequence[bytes]) -> list[set[int]]:
    """Of what `Stories.streams` gives which senders each end had; each must have all of theirs, in order."""
    heard: list[set[int]] = []
    for mine in got:
        by_sender: dict[int, Got] = {}
        for body in mine:
            number, _, rest = body.partition(b" ")
            by_sender.setdefault(int(number), []).append(rest)
        assert all(its == list(bodies) for its in by_sender.values())
        heard.append(set(by_sender))
    return heard
