"""Clients of the OpenWire driver for tests against a real broker."""

import asyncio
from collections.abc import Sequence

from stacks.activemq_openwire import ActiveMQOpenWire, Connection
from stacks.driver import Ack, BodyType, Delivery, Endpoint, Selector, StackError, Subscription

STACK = ActiveMQOpenWire()
Got = list[tuple[bytes, bool]]


class Subscriber:
    """A connection that collects what its listener gets."""

    def __init__(self, connection: Connection, *, vanish_at: int, acknowledge_at: Sequence[int]) -> None:
        self.connection, self.got = connection, Got()
        self._vanish_at, self._acknowledge_at = vanish_at, acknowledge_at

    def handle(self, body: bytes, redelivered: bool) -> None:
        self.got.append((body, redelivered))
        if len(self.got) in self._acknowledge_at:
            self.connection.acknowledge()
        if len(self.got) == self._vanish_at:
            self.connection.abort()

    def bodies(self) -> list[bytes]:
        return [body for body, _ in self.got]


async def subscriber(
    at: Endpoint,
    client: str,
    topic: str,
    *,
    durable: bool = False,
    ack: Ack = Ack.AUTO,
    selector: Selector | None = None,
    prefetch: int | None = None,
    vanish_at: int = -1,
    acknowledge_at: Sequence[int] = (),
) -> Subscriber:
    new = Subscriber(await connect_again(at, client), vanish_at=vanish_at, acknowledge_at=acknowledge_at)
    await new.connection.subscribe(
        topic, new.handle, subscription=wanted(durable=durable, selector=selector, prefetch=prefetch), ack=ack
    )
    return new


def wanted(*, durable: bool, selector: Selector | None = None, prefetch: int | None = None) -> Subscription:
    return Subscription(name="s" if durable else None, selector=selector, prefetch=prefetch)


async def connect_again(at: Endpoint, client: str) -> Connection:
    """Connect; a broker needs a moment to notice that the client's last connection has vanished."""
    while True:
        try:
            return await STACK.connect(at, client)
        except StackError as error:
            if "already connected" not in str(error):
                raise
            await asyncio.sleep(0.05)


async def publish(
    at: Endpoint,
    topic: str,
    bodies: Sequence[bytes],
    *,
    delivery: Delivery = Delivery.PERSISTENT,
    body_type: BodyType = BodyType.BYTES,
    props: Sequence[int] = (),
) -> None:
    connection = await STACK.connect(at, f"publisher of {topic}")
    publisher = await connection.typed_publisher(topic, delivery=delivery, body_type=body_type)
    for number, body in enumerate(bodies):
        await publisher.send(body, props[number] if props else None)
    await connection.close()


def numbered(count: int, size: int = 0) -> list[bytes]:
    return [b"%d" % number + b"\0" * size for number in range(count)]
