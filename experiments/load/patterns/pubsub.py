"""Publishers and subscribers: every subscriber of a topic has each of its messages that its selector takes."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from experiments.load.pattern import Site
from experiments.load.patterns.acknowledging import acknowledging, jms
from records.manifest import Consumer, Producer
from records.messaging import Ack, BodyType
from records.workload import PubSub
from stacks.driver import (
    Connection,
    Handler,
    Publisher,
    Publishing,
    Receiver,
    Selector,
    StackError,
    Subscribing,
    Subscription,
)

NEEDS = (Publishing, Subscribing)


async def produce(connection: Connection, producer: Producer, work: PubSub, site: Site) -> Publisher:
    """A publisher on the producer's topic."""
    del site
    topic, delivery = work.clients.channels[producer.topic], work.guarantee.delivery
    if work.body_type is not BodyType.BYTES:
        return await jms(connection).typed_publisher(topic, delivery=delivery, body_type=work.body_type)
    assert isinstance(connection, Publishing)
    return await connection.publisher(topic, delivery=delivery)


async def consume(connection: Connection, consumer: Consumer, work: PubSub, site: Site) -> None:
    """Subscribe as the workload asks: durable or not, with a listener or asking for one message after the other."""
    subscription = Subscription(
        name=f"consumer-{consumer.id}" if consumer.durable else None,
        selector=consumer.selector and Selector(low=consumer.selector[0], high=consumer.selector[1]),
        prefetch=work.prefetch,
    )
    receive, topic = site.handler(consumer.id), work.clients.channels[consumer.topic]
    if work.ack is Ack.CLIENT:
        receive = acknowledging(receive, jms(connection).acknowledge, every=work.acknowledge_every)
    if work.receive == "listener":
        assert isinstance(connection, Subscribing)
        await connection.subscribe(topic, receive, subscription=subscription, ack=work.ack)
        return
    receiver = await jms(connection).receiver(topic, subscription=subscription, ack=work.ack)
    site.tasks.append(asyncio.ensure_future(one_by_one(receiver, receive)))


async def one_by_one(receiver: Receiver, receive: Handler) -> None:
    """Receive for as long as the connection lives."""
    with suppress(StackError):  # the connection says so itself
        while True:
            receive(*await receiver.receive())
