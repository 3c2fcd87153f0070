"""Senders and receivers: each message of a queue is for one of its receivers, whichever."""

from __future__ import annotations

from experiments.load.pattern import Site
from experiments.load.patterns.acknowledging import acknowledging, jms
from records.manifest import Consumer, Producer
from records.messaging import Ack
from records.workload import Queue
from stacks.driver import Connection, Publisher, Queueing, Subscription

NEEDS = (Queueing,)


async def produce(connection: Connection, producer: Producer, work: Queue, site: Site) -> Publisher:
    """What sends to the producer's queue."""
    del site
    assert isinstance(connection, Queueing)
    return await connection.sender(work.clients.channels[producer.topic], delivery=work.guarantee.delivery)


async def consume(connection: Connection, consumer: Consumer, work: Queue, site: Site) -> None:
    """Take a share of the consumer's queue."""
    assert isinstance(connection, Queueing)
    receive, queue = site.handler(consumer.id), work.clients.channels[consumer.topic]
    if work.ack is Ack.CLIENT:
        receive = acknowledging(receive, jms(connection).acknowledge, every=work.acknowledge_every)
    await connection.receive(queue, receive, subscription=Subscription(prefetch=work.prefetch), ack=work.ack)
