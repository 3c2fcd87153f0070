"""Clients of either ActiveMQ driver for tests against a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from here import HERE

from records.messaging import Ack, BodyType, Delivery
from stacks.activemq.driver import ActiveMQ
from stacks.activemq.openwire import ActiveMQOpenWire
from stacks.driver import Endpoint, Selector, StackError, Subscription

Got = list[tuple[bytes, bool]]


class Subscriber:
    """A connection that collects what its listener gets."""

    def __init__(self, connection: Any, *, fail_at: int, vanish_at: int, acknowledge_at: Sequence[int]) -> None:
        self.connection, self.got = connection, Got()
        self._fail_at, self._vanish_at, self._acknowledge_at = fail_at, vanish_at, acknowledge_at

    def handle(self, body: bytes, redelivered: bool) -> None:
        if len(self.got) == self._fail_at:
            raise ArithmeticError("told to fail")
        self.got.append((body, redelivered))
        if len(self.got) in self._acknowledge_at:
            self.connection.acknowledge()
        if len(self.got) == self._vanish_at:
            self.connection.abort()

    def bodies(self) -> list[bytes]:
        return [body for body, _ in self.got]


def wanted(*, durable: bool, selector: Selector | None = None, prefetch: int | None = None) -> Subscription:
    return Subscription(name="s" if durable else None, selector=selector, prefetch=prefetch)


def numbered(count: int, size: int = 0) -> list[bytes]:
    return [b"%d" % number + b"\0" * size for number in range(count)]


@dataclass(frozen=True, slots=True)
class Clients:
    """Clients of one driver."""

    stack: ActiveMQ | ActiveMQOpenWire

    async def subscriber(
        self,
        at: Endpoint,
        client: str,
        topic: str,
        *,
        durable: bool = False,
        ack: Ack = Ack.AUTO,
        selector: Selector | None = None,
        prefetch: int | None = None,
        fail_at: int = -1,
        vanish_at: int = -1,
        acknowledge_at: Sequence[int] = (),
    ) -> Subscriber:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # a handler told to fail is no news
        connection = await self.connect_again(at, client)
        new = Subscriber(connection, fail_at=fail_at, vanish_at=vanish_at, acknowledge_at=acknowledge_at)
        subscription = wanted(durable=durable, selector=selector, prefetch=prefetch)
        await connection.subscribe(topic, new.handle, subscription=subscription, ack=ack)
        return new

    async def connect_again(self, at: Endpoint, client: str) -> Any:
        """Connect; a broker needs a moment to notice that the client's last connection has vanished."""
        while True:
            try:
                return await self.stack.connect(HERE, [at], client)
            except StackError as error:
                if "already connected" not in str(error):
                    raise
                await asyncio.sleep(0.05)

    async def publish(
        self,
        at: Endpoint,
        topic: str,
        bodies: Sequence[bytes],
        *,
        delivery: Delivery = Delivery.PERSISTENT,
        body_type: BodyType = BodyType.BYTES,
        props: Sequence[int] = (),
    ) -> None:
        connection: Any = await self.stack.connect(HERE, [at], f"publisher of {topic}")
        if body_type is BodyType.BYTES:
            publisher = await connection.publisher(topic, delivery=delivery)
        else:
            publisher = await connection.typed_publisher(topic, delivery=delivery, body_type=body_type)
        for number, body in enumerate(bodies):
            await publisher.send(body, props[number] if props else None)
        await connection.close()
